// A process that writes: `node writer-process.ts SETTINGS WRITING`, a `NodeSettings` and a `WritingPlan` in JSON.
// Says so when it has written everything. One that delivers as well goes on with that until asked to end.
import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from './history/history-file.ts'
import type { Behaviour, RepeatedWrite, WrittenEvent } from './history/history-record.ts'
import { startNode } from './node-setup.ts'
import { eventTypeOf } from './planned-listeners.ts'
import { SeededRandom } from './seeded-random.ts'

export interface WritingPlan {
  readonly seed: number
  readonly transactions: number
  readonly pauseMs: number
  /** How often each behaviour is asked for. */
  readonly behaviours: Readonly<Partial<Record<Behaviour, number>>>
  readonly delivers: boolean
}

const plan = JSON.parse(process.argv[3]!) as WritingPlan
const random = new SeededRandom(plan.seed)
const { outbox, store, settings, history } = await startNode(plan.delivers ? 'delivers' : 'writesOnly')
const plannedRollback = new Error('A planned rollback.')
const usedKeys: { readonly key: string; readonly id: string }[] = []
let stopping = false

process.once('SIGTERM', () => (stopping = true))
process.stdout.write('ready\n')

for (let count = 0; count < plan.transactions && !stopping; count++) {
  await writeTransaction(`${settings.name}-${count}`)
  await delay(plan.pauseMs * random.between(0.5, 1.5))
}
if (!stopping) {
  history.say({ kind: 'finished' })
  process.stdout.write('finished\n')
}
while (plan.delivers && !stopping) await delay(20)
await outbox.close()

async function writeTransaction(tx: string): Promise<void> {
  const rollsBack = random.chance(0.05)
  let key: { readonly key: string; readonly id: string } | undefined
  try {
    await outbox.transaction(async (handle) => {
      await store.addBusinessRow(handle, tx)
      const events = await writeEvents(random.integer(1, 10))
      const undone = random.chance(0.02) ? await writeUndone() : []
      const repeated = random.chance(0.05) ? await writeRepeated(tx, events) : []
      key = repeated[0] && { key: tx, id: repeated[0].expected }
      history.say({ kind: 'intent', tx, events, undone, repeated })
      if (rollsBack) throw plannedRollback
    })
    history.say({ kind: 'commit', tx })
    if (key !== undefined) usedKeys.push(key)
  } catch (error) {
    if (error === plannedRollback) history.say({ kind: 'rollback', tx })
    else history.say({ kind: 'unknown', tx, error: String(error) })
  }
}

async function writeEvents(count: number): Promise<WrittenEvent[]> {
  const events: WrittenEvent[] = []
  while (events.length < count) events.push(await writeEvent())
  return events
}

async function writeEvent(idempotencyKey?: string): Promise<WrittenEvent> {
  const behaviour = random.weighted(plan.behaviours as Record<Behaviour, number>)
  const deliverAfterMs = random.chance(0.02) ? random.integer(100, 1_500) : undefined
  const now = monotonicMs()
  const id = await outbox.write(
    eventTypeOf(behaviour),
    { behaviour },
    {
      ...(deliverAfterMs === undefined ? {} : { deliverAfterMs }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    },
  )
  return { id: id!, behaviour, ...(deliverAfterMs === undefined ? {} : { notBefore: now + deliverAfterMs }) }
}

async function writeUndone(): Promise<string[]> {
  const undone: string[] = []
  try {
    await outbox.transaction(async () => {
      undone.push(...(await writeEvents(2)).map((event) => event.id))
      throw plannedRollback
    })
  } catch (error) {
    if (error !== plannedRollback) throw error
  }
  return undone
}

/** Writes with a key that was used before, here or in a transaction that committed: that adds nothing. */
async function writeRepeated(tx: string, events: WrittenEvent[]): Promise<RepeatedWrite[]> {
  const first = await writeEvent(tx)
  events.push(first)
  const used = [{ key: tx, id: first.id }, ...usedKeys.slice(-1)]
  const repeated: RepeatedWrite[] = []
  for (const { key, id } of used) repeated.push({ expected: id, answered: (await writeEvent(key)).id })
  return repeated
}
