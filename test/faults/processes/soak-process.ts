// One process under mixed load, for as many milliseconds as its first argument says, on the SQLite file of
// its second. Prints, as JSON, what it held before and after. Needs --expose-gc.
import { setTimeout as delay } from 'node:timers/promises'
import v8 from 'node:v8'
import { Delivery } from '../../../packages/sendoff/src/delivery/delivery.ts'
import { EventEnvelope } from '../../../packages/sendoff/src/event/event-envelope.ts'
import { InMemoryMetrics } from '../../../packages/sendoff/src/observe/metrics.ts'
import { Outbox } from '../../../packages/sendoff/src/outbox/outbox.ts'
import { fixedDelay } from '../../../packages/sendoff/src/retry/fixed-delay.ts'
import { DispatchResult } from '../../../packages/sendoff/src/route/dispatch-result.ts'
import type { DispatchContext, ListenerAnswer } from '../../../packages/sendoff/src/route/event-listener.ts'
import { ListenerRegistry } from '../../../packages/sendoff/src/route/listener-registry.ts'
import { SeededRandom } from '../run/seeded-random.ts'
import { sqliteFaultStore } from '../stores/sqlite-fault-store.ts'

export interface SoakReport {
  readonly before: Held
  readonly after: Held
  readonly written: number
  readonly metrics: InMemoryMetrics
  /** Unhandled rejections, and other faults that no process should have. */
  readonly troubles: readonly string[]
}

/** What is in memory while the process is idle. */
export interface Held {
  readonly heapBytes: number
  readonly resources: Readonly<Record<string, number>>
  /** Deliveries that are still referenced: in a queue, in flight, or kept by mistake. */
  readonly deliveries: number
  readonly envelopes: number
  readonly queued: number
}

const [durationMs, location, seed] = [Number(process.argv[2]), process.argv[3]!, Number(process.argv[4])]
const random = new SeededRandom(seed)
const metrics = new InMemoryMetrics()
const troubles: string[] = []
process.on('unhandledRejection', (reason) => troubles.push(`unhandledRejection: ${String(reason)}`))
process.on('uncaughtException', (error) => troubles.push(`uncaughtException: ${String(error)}`))
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') troubles.push(`warning: ${warning.message}`)
})

const hangMs = 1_000
const outbox = await Outbox.multiNode<any>({
  store: sqliteFaultStore.open(location).store,
  listeners: new ListenerRegistry()
    .register('Quick', () => delay(2))
    .register('Failing', fail)
    .register('Deferring', defer)
    .register('Obedient', obey, { timeoutMs: 50 })
    .register('Hanging', () => delay(hangMs), { timeoutMs: 50 })
    .registerDefault(() => DispatchResult.dead('No listener accepts it.')),
  logger: false,
  metrics,
  workerCount: 32,
  hotQueueCapacity: 50,
  leaseMs: 1_000,
  timeoutGraceMs: 100,
  retryPolicy: fixedDelay(20),
  maxAttempts: 3,
  poller: { intervalMs: 100 },
  deleteCompleted: true,
}).start()

let written = 0
// Things that are made once and kept, such as compiled statements and code, exist before the first count.
await load(Math.min(4_000, durationMs / 3))
const before = await held()
await load(durationMs)
const after = await held()
await outbox.close()
const report: SoakReport = { before, after, written, metrics, troubles }
process.stdout.write(`${JSON.stringify(report)}\n`)

async function load(ms: number): Promise<void> {
  const end = performance.now() + ms
  while (performance.now() < end) {
    // Now and then more at once than the hot queue has room for.
    const count = random.chance(0.05) ? 40 : 4
    await Promise.all(Array.from({ length: count }, () => writeSome().catch(() => {})))
    await delay(5)
  }
}

async function writeSome(): Promise<void> {
  await outbox.transaction(async () => {
    const count = random.integer(1, 4)
    for (let n = 0; n < count; n++) {
      const type = random.weighted({
        Quick: 90,
        Failing: 4,
        Deferring: 2,
        Obedient: 1,
        Hanging: 1,
        Unwanted: 1,
      })
      const later = random.chance(0.02) ? { deliverAfterMs: random.integer(10, 300) } : {}
      await outbox.write(type, { text: 'x'.repeat(200) }, later)
    }
    if (random.chance(0.05)) throw new Error('Rolled back.')
    written += count
  })
}

async function held(): Promise<Held> {
  await outbox.drain()
  // After retries, delays and hanging listeners, nothing is left.
  await delay(hangMs + 500)
  await outbox.drain()
  await delay(200)
  globalThis.gc!()
  globalThis.gc!()
  return {
    heapBytes: process.memoryUsage().heapUsed,
    resources: countByName(process.getActiveResourcesInfo()),
    deliveries: v8.queryObjects(Delivery, { format: 'count' }),
    envelopes: v8.queryObjects(EventEnvelope, { format: 'count' }),
    queued: metrics.hotDepth + metrics.coldDepth,
  }
}

function countByName(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

async function fail(_: EventEnvelope, { attempt }: DispatchContext): Promise<ListenerAnswer> {
  await delay(1)
  if (attempt < 3) throw new Error('A planned failure.')
}

function defer(event: EventEnvelope): ListenerAnswer {
  return Date.now() - event.occurredAt.getTime() < 100 ? DispatchResult.retryAfter(50) : DispatchResult.done()
}

async function obey(_: EventEnvelope, { signal, attempt }: DispatchContext): Promise<void> {
  if (attempt < 3) await delay(hangMs, undefined, { signal })
}
