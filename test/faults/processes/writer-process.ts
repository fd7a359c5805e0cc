// A process that writes: `node writer-process.ts SETTINGS WRITING`, a `NodeSettings` and a `WritingPlan` in
// JSON. If it delivers as well, it continues to do so until it is asked to end.
import { writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { OutboxError } from '../../../packages/sendoff/src/errors.ts'
import { monotonicMs } from '../history/history-file.ts'
import type { Behaviour, RepeatedWrite, WrittenEvent } from '../history/history-record.ts'
import { rowName, rowsOf, twoDestinations } from '../history/rows-of-events.ts'
import { startNode } from './node-setup.ts'
import { eventTypeOf } from './planned-listeners.ts'
import { SeededRandom } from '../run/seeded-random.ts'

export interface WritingPlan {
  readonly seed: number
  /** First and last transaction. The process that had this slot before wrote the earlier ones. */
  readonly from: number
  readonly to: number
  /** How many ordering keys there are; with 0, events have none. */
  readonly keys: number
  /** The transactions with a poison event. */
  readonly poisonAt: readonly number[]
  /** How many transactions are begun at the same time. */
  readonly lanes: number
  /** When all of it should be written, by the monotonic clock. The writer makes up for lost time. */
  readonly until: number
  /** The weight of each behaviour. */
  readonly behaviours: Readonly<Partial<Record<Behaviour, number>>>
  readonly delivers: boolean
  /** How probable it is that a transaction stays open for longer than a lease. */
  readonly longTransactions: number
  /** How probable it is that the process ends itself right before a commit, and right after it. */
  readonly deathAtCommit: number
  /**
   * How probable it is that the session of a transaction ends right before its commit, if the store can do
   * that.
   */
  readonly lossAtCommit: number
  /** A file that exists as soon as everything is written. */
  readonly finishedFile: string
}

const plan = JSON.parse(process.argv[3]!) as WritingPlan
const random = new SeededRandom(plan.seed)
const node = await startNode(plan.delivers ? 'delivers' : 'writesOnly')
const { outbox, store, settings, history } = node
const destinations = settings.broken === undefined ? [''] : twoDestinations
const plannedRollback = new Error('A planned rollback.')
const usedKeys: { readonly key: string; readonly id: string }[] = []
let stopping = false
let begun = 0
let written = plan.from

process.once('SIGTERM', () => (stopping = true))
process.stdout.write('ready\n')

while (written < plan.to && !stopping) {
  const lanes = Math.min(plan.lanes, plan.to - written)
  await Promise.all(Array.from({ length: lanes }, (_, lane) => writeTransaction(written + lane)))
  const restMs = Math.max(0, plan.until - monotonicMs())
  await delay((restMs / (plan.to - written + 1)) * lanes * random.between(0.5, 1.5))
}
if (written >= plan.to) writeFileSync(plan.finishedFile, '')
while (plan.delivers && !stopping) await delay(20)
await node.close()

async function writeTransaction(index: number): Promise<void> {
  // A transaction that never reached its commit is written again, under another name.
  const tx = `${settings.name}-${++begun}`
  const isPoisoned = plan.poisonAt.includes(index)
  const isRefused = !isPoisoned && random.chance(0.02)
  const rollsBack = isRefused || (!isPoisoned && random.chance(0.05))
  let key: { readonly key: string; readonly id: string } | undefined
  try {
    await outbox.transaction(async (handle) => {
      await store.addBusinessRow(handle, tx)
      const keys = someKeys()
      const events = await writeEvents(random.integer(1, 10), keys)
      if (isPoisoned) events.push(await writeEvent({ keys, behaviour: 'poison' }))
      const undone = random.chance(0.02) ? await writeUndone(keys) : []
      const repeated = random.chance(0.05) ? await writeRepeated(tx, events, keys) : []
      key = repeated[0] && { key: tx, id: repeated[0].expected }
      history.say({
        kind: 'intent',
        tx,
        rollsBack,
        events: rowsOf(events, destinations),
        undone: undone.flatMap((eventId) =>
          destinations.map((destination) => rowName({ eventId, destination })),
        ),
        repeated,
      })
      written++
      if (random.chance(0.05)) await delay(15)
      if (random.chance(plan.longTransactions)) await delay(settings.leaseMs * random.between(1.1, 1.4))
      if (isRefused) return writeRefused()
      if (rollsBack) throw plannedRollback
      dieSometimes()
      if (random.chance(plan.lossAtCommit)) store.endSession?.(handle)
    })
    dieSometimes()
    history.say({ kind: 'commit', tx })
    if (key !== undefined) usedKeys.push(key)
  } catch (error) {
    if (error === plannedRollback || isRefusal(error)) history.say({ kind: 'rollback', tx })
    else history.say({ kind: 'unknown', tx, error: String(error) })
  }
}

/**
 * Ends the process right before or right after a commit: faults from outside hardly ever hit these moments.
 */
function dieSometimes(): void {
  if (!random.chance(plan.deathAtCommit)) return
  history.say({ kind: 'fault', fault: 'kill', target: history.process })
  process.kill(process.pid, 'SIGKILL')
}

/** Returns few keys, so that not too many transactions lock the same ones in another order. */
function someKeys(): readonly string[] {
  if (plan.keys === 0) return []
  return Array.from({ length: random.integer(1, 3) }, () => `key ${random.integer(1, plan.keys)}`)
}

/**
 * Writes a payload that every outbox refuses, without awaiting it: its transaction must be rolled back all
 * the same.
 */
function writeRefused(): void {
  void outbox.write({ name: 'Planned' }, { notJson: 1n })
}

function isRefusal(error: unknown): boolean {
  return error instanceof OutboxError && error.code === 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE'
}

interface EventWish {
  readonly keys: readonly string[]
  readonly behaviour?: Behaviour
  readonly idempotencyKey?: string
}

async function writeEvents(count: number, keys: readonly string[]): Promise<WrittenEvent[]> {
  if (random.chance(0.2)) return writeTogether(Array.from({ length: count }, () => ({ keys })))

  const events: WrittenEvent[] = []
  while (events.length < count) events.push(await writeEvent({ keys }))
  return events
}

async function writeEvent(wish: EventWish): Promise<WrittenEvent> {
  const [written] = await writeTogether([wish])
  return written!
}

async function writeTogether(wishes: readonly EventWish[]): Promise<WrittenEvent[]> {
  const now = monotonicMs()
  const planned = wishes.map(({ keys, idempotencyKey, behaviour: wished }) => {
    const behaviour = wished ?? random.weighted(plan.behaviours as Record<Behaviour, number>)
    const deliverAfterMs = random.chance(0.02) ? random.integer(100, 1_500) : undefined
    const key = keys.length > 0 && random.chance(0.9) ? random.pick(keys) : undefined
    const fields = {
      ...(deliverAfterMs !== undefined && { deliverAfterMs }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(key !== undefined && { orderingKey: key }),
    }
    const notBefore = deliverAfterMs === undefined ? {} : { notBefore: now + deliverAfterMs }
    return { fields, written: { behaviour, ...notBefore, ...(key !== undefined && { key }) } }
  })
  const ids = await outbox.writeAll(
    planned.map(({ fields, written: { behaviour } }) => ({
      type: { name: eventTypeOf(behaviour) },
      payload: { behaviour, writtenAt: now },
      fields,
    })),
  )
  const wroteAt = monotonicMs()
  return planned.map(({ written }, index) => ({ id: ids[index]!, ...written, wroteAt }))
}

async function writeUndone(keys: readonly string[]): Promise<string[]> {
  const undone: string[] = []
  try {
    await outbox.transaction(async () => {
      undone.push(...(await writeEvents(2, keys)).map((event) => event.id))
      throw plannedRollback
    })
  } catch (error) {
    if (error !== plannedRollback) throw error
  }
  return undone
}

/** Writes with a key that was used before, here or in a committed transaction: that adds nothing. */
async function writeRepeated(
  tx: string,
  events: WrittenEvent[],
  keys: readonly string[],
): Promise<RepeatedWrite[]> {
  const first = await writeEvent({ keys, idempotencyKey: tx })
  events.push(first)
  const used = [{ key: tx, id: first.id }, ...usedKeys.slice(-1)]
  const repeated: RepeatedWrite[] = []
  for (const { key, id } of used) {
    const answered = (await writeEvent({ keys, idempotencyKey: key })).id
    // An event that it adds all the same would be one that no process wrote: a rule finds it.
    repeated.push({ expected: id, answered: store.answersDuplicatesLater ? id : answered })
  }
  return repeated
}
