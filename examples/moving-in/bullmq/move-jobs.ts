import type { Redis } from 'ioredis'
import { EventEnvelope, type EventWriter } from 'sendoff'

/** Where jobs come from, and where they go. */
export interface Move {
  readonly redis: Redis
  readonly outbox: EventWriter
  readonly queue: string
  /** The prefix of BullMQ's keys. */
  readonly prefix: string
  readonly batchSize: number
}

// KEYS: delayed, prioritized, wait, paused, moving. ARGV: prefix of the queue, ids of jobs.
// Moves each job that still waits out of BullMQ's reach: its hash becomes `moving:ID:TIME`, and the set `moving`
// has ID:TIME with the time it is due. BullMQ's workers take jobs by scripts as well, so a job goes to one of both.
// The time is that of the creation: BullMQ may use an id again. Jobs of flows and of schedulers stay: BullMQ has to
// tell a parent when its child is done, and a scheduler adds its next job with the last one. Returns how many stay.
const take = `
  local kept = 0
  for index = 2, #ARGV do
    local id = ARGV[index]
    local job = ARGV[1] .. id
    local time, parent, scheduler = unpack(redis.call('hmget', job, 'timestamp', 'parentKey', 'rjk'))
    local children = redis.call('exists', job .. ':dependencies', job .. ':processed', job .. ':failed',
      job .. ':unsuccessful')
    if time and (parent or scheduler or children > 0) then
      kept = kept + 1
    elseif time then
      local score = redis.call('zscore', KEYS[1], id)
      local found = redis.call('zrem', KEYS[1], id) + redis.call('zrem', KEYS[2], id)
        + redis.call('lrem', KEYS[3], -1, id) + redis.call('lrem', KEYS[4], -1, id)
      if found > 0 then
        local deduplication = redis.call('hget', job, 'deid')
        local winner = deduplication and ARGV[1] .. 'de:' .. deduplication
        if winner and redis.call('get', winner) == id then redis.call('del', winner) end
        redis.call('del', job .. ':logs')
        redis.call('rename', job, KEYS[5] .. ':' .. id .. ':' .. time)
        redis.call('zadd', KEYS[5], score and math.floor(score / 4096) or 0, id .. ':' .. time)
      end
    end
  end
  return kept`

/** What an import did with some jobs. */
export interface Batch {
  readonly moved: number
  /** Jobs of flows and schedulers, which stay in BullMQ. */
  readonly kept: number
}

/**
 * Moves all jobs that no worker of BullMQ holds, delayed ones and retries included. Yields what became of each
 * batch.
 */
export async function* moveJobs({ redis, outbox, queue, prefix, batchSize }: Move): AsyncGenerator<Batch> {
  const key = (name: string) => `${prefix}:${queue}:${name}`
  const keys = ['delayed', 'prioritized', 'wait', 'paused', 'moving'].map(key)
  yield { moved: await writeMoving(), kept: 0 } // what an earlier import had taken when it ended

  const waiting = [
    ...(await redis.lrange(key('wait'), '0', '-1')).reverse(), // the oldest first
    ...(await redis.lrange(key('paused'), '0', '-1')).reverse(),
    ...(await redis.zrange(key('prioritized'), '0', '-1')),
    ...(await redis.zrange(key('delayed'), '0', '-1')),
    ...(await redis.zrange(key('waiting-children'), '0', '-1')),
  ]
  for (let from = 0; from < waiting.length; from += batchSize) {
    const ids = waiting.slice(from, from + batchSize)
    const kept = Number(await redis.eval(take, keys.length, ...keys, key(''), ...ids))
    yield { moved: await writeMoving(), kept }
  }

  /** Writes the events of all jobs that were taken, and only then removes the jobs. */
  async function writeMoving(): Promise<number> {
    const taken = await redis.zrange(key('moving'), '0', '-1', 'WITHSCORES')
    const names = taken.filter((_, index) => index % 2 === 0)
    const jobs = await Promise.all(names.map((name) => redis.hgetall(`${key('moving')}:${name}`)))
    const events = names.flatMap((name, index) => {
      const job = jobs[index]!
      // Another import has just removed it.
      if (job['data'] === undefined) return []
      return eventOf(`bullmq:${queue}:${name}`, job, Number(taken[2 * index + 1]))
    })
    if (events.length === 0) return 0

    await outbox.transaction(() => outbox.writeAll(events))
    await redis
      .multi()
      .del(names.map((name) => `${key('moving')}:${name}`))
      .zrem(key('moving'), names)
      .exec()
    return events.length
  }
}

/** Returns the event of a job: its name is the type. */
function eventOf(idempotencyKey: string, job: Record<string, string>, due: number): EventEnvelope {
  const created = Number(job['timestamp'])
  return EventEnvelope.of({
    eventType: job['name']!,
    payloadJson: job['data']!,
    idempotencyKey,
    occurredAt: new Date(created),
    availableAt: new Date(Math.max(created, due)),
  })
}
