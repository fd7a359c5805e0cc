import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { FlowProducer, Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { numbers, SharedWork } from '../shared-work.ts'
import { moveJobs } from './move-jobs.ts'

const script = 'bullmq/import.ts'
const hourMs = 3_600_000

describe('moving from BullMQ', () => {
  it(
    'does every job once, although a worker goes on and an import is killed half-way',
    { timeout: 60_000 },
    async (test) => {
      const work = await SharedWork.open(test)
      const { name, queue, connection } = openQueue(work)
      const backoff = { type: 'fixed', delay: hourMs }
      await queue.addBulk(
        numbers(1, 300).map((number) => ({
          name: 'Work',
          data: { number },
          opts: { attempts: 3, backoff, ...(number > 280 && { priority: number }) },
        })),
      )
      for (const number of numbers(301, 310)) await queue.add('Work', { number }, { delay: hourMs })

      const worker = new Worker<{ number: number }>(
        name,
        async ({ data: { number }, attemptsMade }) => {
          await sleep(30)
          if (number % 4 === 0 && attemptsMade === 0) throw new Error('Out of ink.')
          await work.did(number, 'old worker')
        },
        { connection, concurrency: 2 },
      )
      work.atEnd(() => worker.close())
      await work.untilOldWorkerDid(8)
      await work.killedImport(script, name, '5')
      await Promise.all([work.import(script, name, '20'), work.importAll(script, name, '20')])
      await work.deliver()

      const [old, moved] = [await work.doneBy('old worker'), await work.doneBy('outbox')]
      const pending = await work.pending()
      const all = [...old, ...moved, ...pending.keys()].sort((one, other) => one - other)
      deepEqual(all, numbers(1, 310))
      ok(old.length > 0 && moved.length > 0)
      // A job in a pause between two attempts keeps its pause, and a delayed job its time.
      for (const number of [4, ...numbers(301, 310)]) {
        const wait = pending.get(number)!.getTime() - Date.now()
        ok(wait > hourMs / 2 && wait <= hourMs, `${number} is due in ${wait} ms`)
      }
      equal(await redisKeysOf(connection, name, 'moving*'), 0)
    },
  )

  it('loses and doubles nothing when it ends between two steps', async (test) => {
    const work = await SharedWork.open(test)
    const { name, queue, connection } = openQueue(work)
    const outbox = await Outbox.writerOnly({ store: postgresStore({ client: work.pool }) }).start()
    work.atEnd(() => outbox.close())
    const move = { redis: connection, outbox, queue: name, prefix: 'bull', batchSize: 10 }
    const ends = () => {
      throw new Error('It ends here.')
    }

    await queue.add('Work', { number: 1 })
    // It has taken the job, and not written its event.
    const beforeWrite = { ...move, outbox: { ...outbox, transaction: ends, writeAll: ends, write: ends } }
    await rejects(all(beforeWrite), /It ends here/)
    equal(await queue.getJobCountByTypes('wait', 'active', 'delayed'), 0)
    equal(await all(move), 1)

    await queue.add('Work', { number: 2 })
    // It has written the event, and not removed the job.
    const beforeRemoval = {
      ...move,
      redis: Object.assign(Object.create(connection), { multi: ends }) as Redis,
    }
    await rejects(all(beforeRemoval))
    await work.deliver()
    equal(await all(move), 1)
    await work.deliver()
    deepEqual(await work.doneBy('outbox'), [1, 2])
    equal(await redisKeysOf(connection, name, 'moving*'), 0)
  })

  it('moves a job again whose id was used before, and leaves schedulers', async (test) => {
    const work = await SharedWork.open(test)
    const { name, queue, connection } = openQueue(work)
    const outbox = await Outbox.writerOnly({ store: postgresStore({ client: work.pool }) }).start()
    work.atEnd(() => outbox.close())
    const move = { redis: connection, outbox, queue: name, prefix: 'bull', batchSize: 10 }

    for (const number of [1, 2]) {
      const options = { jobId: 'daily', deduplication: { id: 'daily' }, timestamp: Date.now() + number }
      await queue.add('Work', { number }, options)
      equal(await all(move), 1)
    }
    await queue.upsertJobScheduler('nightly', { every: hourMs }, { name: 'Work', data: { number: 3 } })
    await queue.pause()
    await queue.add('Work', { number: 4 })
    equal(await all(move), 1)
    await sleep(5)
    await work.deliver()
    deepEqual(await work.doneBy('outbox'), [1, 2, 4])
    equal((await queue.getJobSchedulers()).length, 1)
    ok((await queue.getJobCountByTypes('wait', 'delayed')) > 0)
  })

  it('leaves flows to the old workers, also parents whose children are done or failed', async (test) => {
    const work = await SharedWork.open(test)
    const [parents, children] = [openQueue(work), openQueue(work)]
    const { connection } = parents
    const flows = new FlowProducer({ connection })
    work.atEnd(() => flows.close())
    const onFailures = [
      {},
      { failParentOnFailure: true },
      { ignoreDependencyOnFailure: true },
      { continueParentOnFailure: true },
    ]
    await flows.addBulk(
      onFailures.map((opts, index) => {
        const data = { number: index + 1 }
        const child = { name: 'Part', queueName: children.name, data, opts }
        return { name: 'Work', queueName: parents.name, data, children: [child] }
      }),
    )
    await parents.queue.add('Work', { number: 5 })

    deepEqual(await work.import(script, children.name), { moved: 0, left: 4 })
    deepEqual(await work.import(script, parents.name), { moved: 1, left: 4 })
    const first = new Worker<{ number: number }>(
      children.name,
      async ({ data: { number } }) => {
        if (number > 1) throw new Error('Out of ink.')
      },
      { connection },
    )
    work.atEnd(() => first.close())
    while ((await parents.queue.getJobCountByTypes('wait')) < 4) await sleep(5)
    deepEqual(await work.import(script, parents.name), { moved: 0, left: 4 })

    const last = new Worker<{ number: number }>(
      parents.name,
      ({ data: { number } }) => work.did(number, 'old worker'),
      { connection },
    )
    work.atEnd(() => last.close())
    while ((await parents.queue.getJobCountByTypes('completed', 'failed')) < 4) await sleep(5)
    equal(await parents.queue.getJobCountByTypes('failed'), 1)
    deepEqual(await work.import(script, parents.name), { moved: 0, left: 0 })
    await work.deliver()
    deepEqual(await work.doneBy('old worker'), [1, 3, 4])
    deepEqual(await work.doneBy('outbox'), [5])
  })
})

function openQueue(work: SharedWork) {
  const name = `work-${randomUUID()}`
  const connection = new Redis(process.env['REDIS_URL']!, { maxRetriesPerRequest: null })
  const queue = new Queue(name, { connection })
  work.atEnd(async () => {
    await queue.close()
    connection.disconnect()
  })
  return { name, queue, connection }
}

async function all(move: Parameters<typeof moveJobs>[0]): Promise<number> {
  let moved = 0
  for await (const batch of moveJobs(move)) moved += batch.moved
  return moved
}

async function redisKeysOf(redis: Redis, queue: string, pattern: string): Promise<number> {
  return (await redis.keys(`bull:${queue}:${pattern}`)).length
}
