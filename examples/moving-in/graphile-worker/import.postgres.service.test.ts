import { deepEqual, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { numbers, SharedWork } from '../shared-work.ts'

const script = 'graphile-worker/import.ts'
const hourMs = 3_600_000
const logger = new Logger(() => () => {})

describe('moving from graphile-worker', () => {
  it(
    'does every job once, although a worker goes on and an import is killed half-way',
    { timeout: 60_000 },
    async (test) => {
      const work = await SharedWork.open(test)
      const connection = { connectionString: work.url, logger }
      const utils = await makeWorkerUtils(connection)
      work.atEnd(async () => utils.release())
      await utils.migrate()
      await utils.addJobs(numbers(1, 300).map((number) => ({ identifier: 'Work', payload: { number } })))
      const due = new Date(Date.now() + hourMs)
      for (const number of numbers(301, 310)) await utils.addJob('Work', { number }, { runAt: due })
      for (const number of numbers(311, 320)) await utils.addJob('Work', { number }, { queueName: 'printer' })

      const runner = await run({
        ...connection,
        noHandleSignals: true,
        concurrency: 2,
        pollInterval: 100,
        taskList: {
          async Work(payload, { job }) {
            const { number } = payload as { number: number }
            await sleep(30)
            // Graphile-worker tries it again after some seconds: an import comes first, and keeps that time.
            if (number % 5 === 0 && job.attempts === 1) throw new Error('Out of ink.')
            await work.did(number, 'old worker')
          },
        },
      })
      work.atEnd(() => runner.stop())
      await work.untilOldWorkerDid(8)
      await work.killedImport(script, 'Work', '5')
      await Promise.all([work.import(script, 'Work', '20'), work.importAll(script, 'Work', '20')])
      await work.deliver()

      const [old, moved] = [await work.doneBy('old worker'), await work.doneBy('outbox')]
      const pending = await work.pending()
      const all = [...old, ...moved, ...pending.keys()].sort((one, other) => one - other)
      deepEqual(all, numbers(1, 320))
      ok(old.length > 0 && moved.length > 0)
      for (const number of numbers(301, 310)) deepEqual(pending.get(number), due)
      const keys = `select distinct ordering_key as key from outbox_event where (payload ->> 'number')::int > 310`
      const { rows } = await work.pool.query<{ key: string }>(keys)
      deepEqual(rows, old.filter((number) => number > 310).length === 10 ? [] : [{ key: 'printer' }])
    },
  )
})
