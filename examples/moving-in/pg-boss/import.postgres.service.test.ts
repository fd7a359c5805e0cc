import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PgBoss } from 'pg-boss'
import { numbers, SharedWork } from '../shared-work.ts'

const script = 'pg-boss/import.ts'
const hourMs = 3_600_000

describe('moving from pg-boss', () => {
  it(
    'does every job once, although a worker goes on and an import is killed half-way',
    { timeout: 40_000 },
    async (test) => {
      const work = await SharedWork.open(test)
      const boss = await startedBoss(work.url)
      work.atEnd(() => boss.stop({ graceful: false }))
      await boss.createQueue('Work', { retryLimit: 3, retryDelay: hourMs / 1_000 })
      await boss.insert(
        'Work',
        numbers(1, 300).map((number) => ({ data: { number } })),
      )
      const due = new Date(Date.now() + hourMs)
      for (const number of numbers(301, 310)) await boss.send('Work', { number }, { startAfter: due })

      const options = { batchSize: 4, pollingIntervalSeconds: 0.5, includeMetadata: true } as const
      await boss.work<{ number: number }>('Work', options, async (jobs) => {
        const isFirstTime = jobs.every(({ retryCount }) => retryCount === 0)
        if (isFirstTime && jobs.some(({ data }) => data.number === 2)) throw new Error('Out of ink.')
        for (const { data } of jobs) await work.did(data.number, 'old worker')
      })
      await work.untilOldWorkerDid(4)
      await work.killedImport(script, 'Work', '5')
      await Promise.all([work.import(script, 'Work', '20'), work.importAll(script, 'Work', '20')])
      await work.deliver()

      const [old, moved, pending] = [
        await work.doneBy('old worker'),
        await work.doneBy('outbox'),
        await work.pending(),
      ]
      const all = [...old, ...moved, ...pending.keys()].sort((one, other) => one - other)
      deepEqual(all, numbers(1, 310))
      ok(old.length > 0 && moved.length > 0)
      // A job in a pause between two attempts keeps its pause, and a delayed job its time.
      ok([...pending].some(([number, at]) => number <= 300 && at.getTime() > Date.now() + hourMs / 2))
      for (const number of numbers(301, 310)) deepEqual(pending.get(number), due)
      const moves = `select count(*)::int from pgboss.job where state = 'completed' and output ->> 'movedTo' = 'outbox'`
      equal((await work.pool.query(moves)).rows[0].count, moved.length + pending.size)
    },
  )
})

async function startedBoss(connectionString: string): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString, max: 4 })
  boss.on('error', (error) => console.error(error))
  return boss.start()
}
