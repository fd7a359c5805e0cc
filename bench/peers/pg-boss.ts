import type { PgBoss } from 'pg-boss'
import { type OrderPayload, payloadOf } from '../bench-event.ts'
import type { Peer } from './peer.ts'

const queue = 'orders'

export interface PgBossChoices {
  /** Whether each job wakes the workers. This slows writers down, so only the latency suite uses it. */
  readonly notify?: boolean
}

/** pg-boss, which claims and completes jobs by the thousand here. */
export function pgBoss({ notify = false }: PgBossChoices = {}): Peer {
  return {
    name: 'pg-boss',
    leftSql: `select count(*) from pgboss.job where name = '${queue}' and state <> 'completed'`,

    async setUp(url) {
      const boss = await started(url, {})
      await boss.createQueue(queue, { notify })
      await boss.stop({ graceful: false })
    },

    async openWriter(url) {
      const boss = await started(url, { supervise: false, schedule: false, max: 4 })
      return {
        write: (client, number) =>
          boss.send(queue, payloadOf(number), {
            db: { executeSql: (text, values) => client.query(text, values) },
          }),
        writeAll: (client, first, count) =>
          boss.insert(
            queue,
            Array.from({ length: count }, (_, index) => ({ data: payloadOf(first + index) })),
            { db: { executeSql: (text, values) => client.query(text, values) } },
          ),
        close: () => boss.stop({ graceful: false }),
      }
    },

    async work(url, onEvent) {
      const boss = await started(url, { useListenNotify: notify })
      await boss.work<OrderPayload>(
        queue,
        { batchSize: 1_000, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
        async (jobs) => {
          for (const { data } of jobs) onEvent({ payload: data })
        },
      )
      return { stop: () => boss.stop() }
    },
  }
}

async function started(
  connectionString: string,
  options: Omit<ConstructorParameters<typeof PgBoss>[0] & object, 'connectionString'>,
): Promise<PgBoss> {
  const { PgBoss } = await import('pg-boss')
  const boss = new PgBoss({ connectionString, ...options })
  boss.on('error', (error) => console.error(error))
  return boss.start()
}
