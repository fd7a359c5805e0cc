import { payloadOf } from '../bench-event.ts'
import type { Peer } from './peer.ts'

/**
 * graphile-worker, which claims and completes jobs in batches here. With its defaults, which claim and
 * complete each job alone, it is a tenth as fast.
 */
export const graphileWorker: Peer = {
  name: 'graphile-worker',
  leftSql: 'select count(*) from graphile_worker.jobs',

  async setUp(url) {
    const { runMigrations } = await import('graphile-worker')
    await runMigrations({ preset: await presetFor(url) })
  },

  async openWriter() {
    return {
      // $1 payload.
      write: (client, number) =>
        client.query({
          name: 'add-job',
          text: `select id from graphile_worker.add_job('order', $1::json)`,
          values: [JSON.stringify(payloadOf(number))],
        }),

      // $1 jobs.
      writeAll: (client, first, count) =>
        client.query({
          name: 'add-jobs',
          text: `
            select count(*) from graphile_worker.add_jobs(
              array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
          values: [
            JSON.stringify(
              Array.from({ length: count }, (_, index) => ({
                identifier: 'order',
                payload: payloadOf(first + index),
              })),
            ),
          ],
        }),

      async close() {},
    }
  },

  async work(url, onEvent) {
    const { run } = await import('graphile-worker')
    const runner = await run({
      preset: await presetFor(url),
      noHandleSignals: true,
      taskList: { order: async (payload) => onEvent({ payload: payload as ReturnType<typeof payloadOf> }) },
    })
    return { stop: () => runner.stop() }
  },
}

async function presetFor(connectionString: string): Promise<GraphileConfig.Preset> {
  const { Logger } = await import('graphile-worker')
  return {
    worker: {
      connectionString,
      logger: new Logger(() => () => {}),
      concurrentJobs: 100,
      maxPoolSize: 10,
      localQueue: { size: 2_000 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  }
}
