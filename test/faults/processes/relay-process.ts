// A process that writes at a steady pace and sends its events to an HTTP server, as a single writer: `node
// relay-process.ts SETTINGS`, settings being `RelaySettings` in JSON. Its parent asks by message for reports,
// and for the end.
import { setTimeout as delay } from 'node:timers/promises'
import type { EventEnvelope } from '../../../packages/sendoff/src/event/event-envelope.ts'
import { EventStatus } from '../../../packages/sendoff/src/store/event-status.ts'
import { type CircuitBreakerState, InMemoryMetrics } from '../../../packages/sendoff/src/observe/metrics.ts'
import { Outbox } from '../../../packages/sendoff/src/outbox/outbox.ts'
import { fixedDelay } from '../../../packages/sendoff/src/retry/fixed-delay.ts'
import type { DispatchContext } from '../../../packages/sendoff/src/route/event-listener.ts'
import { ListenerRegistry } from '../../../packages/sendoff/src/route/listener-registry.ts'
import { faultStore } from '../stores/fault-stores.ts'

export interface RelaySettings {
  readonly store: string
  readonly location: string
  /** Where events are sent to, by their ids. */
  readonly url: string
  readonly eventsPerSecond: number
  readonly retryMs: number
  readonly coolDownMs: number
  readonly intervalMs: number
  readonly listenerTimeoutMs: number
}

export type RelayOrder = 'report' | 'finish'

export type RelayMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'state'; readonly state: CircuitBreakerState }
  | ({ readonly kind: 'report' } & RelayReport)
  | ({ readonly kind: 'finished' } & RelayReport & { readonly done: number; readonly dead: number })

/** What has happened since the last report. */
export interface RelayReport {
  readonly written: number
  readonly sends: number
  /** Most sends of one event. */
  readonly mostSends: number
  readonly ticks: number
  /** Events that the breaker has left to the poller. */
  readonly leftToPoller: number
}

const settings = JSON.parse(process.argv[2]!) as RelaySettings
const tell = (message: RelayMessage) => void process.send!(message)
const opened = (await faultStore(settings.store)).open(settings.location)
const sends = new Map<string, number>()
let written = 0
let ticks = 0
let isWriting = true

class RelayMetrics extends InMemoryMetrics {
  override recordCircuitBreakerState(state: CircuitBreakerState): void {
    super.recordCircuitBreakerState(state)
    tell({ kind: 'state', state })
  }
}

const metrics = new RelayMetrics()
const outbox = await Outbox.singleWriter<any>({
  store: opened.store,
  listeners: new ListenerRegistry().register('Relayed', send, { timeoutMs: settings.listenerTimeoutMs }),
  logger: false,
  metrics,
  tracer: { startSpan: countTick },
  poller: { intervalMs: settings.intervalMs },
  retryPolicy: fixedDelay(settings.retryMs),
  maxAttempts: 1_000,
  circuitBreaker: { minimumCalls: 5, windowMs: 1_000, coolDownMs: settings.coolDownMs },
}).start()

process.once('disconnect', () => process.exit(1))
process.on('message', (order: RelayOrder) => {
  if (order === 'report') tell({ kind: 'report', ...report() })
  else isWriting = false
})
tell({ kind: 'ready' })
await writeSteadily()
const pending = { status: [EventStatus.NEW, EventStatus.RETRY] }
while ((await opened.store.people.count(pending)) > 0) await delay(20)
const done = await opened.store.people.count({ status: [EventStatus.DONE] })
const dead = await opened.store.people.count({ status: [EventStatus.DEAD] })
tell({ kind: 'finished', ...report(), done, dead })
await outbox.close()
await opened.end()
process.disconnect()

async function send({ eventId }: EventEnvelope, { signal }: DispatchContext): Promise<void> {
  sends.set(eventId, (sends.get(eventId) ?? 0) + 1)
  const response = await fetch(`${settings.url}/${eventId}`, { method: 'POST', signal })
  if (!response.ok) throw new Error(`The destination answered ${response.status}.`)
}

async function writeSteadily(): Promise<void> {
  const beganAt = performance.now()
  for (let number = 0; isWriting; number++) {
    await delay(Math.max(0, beganAt + (number * 1_000) / settings.eventsPerSecond - performance.now()))
    await outbox.transaction(() => outbox.write('Relayed', { number }))
    written++
  }
}

function countTick() {
  ticks++
  return { setAttribute() {}, recordException() {}, end() {} }
}

function report(): RelayReport {
  const counts = [...sends.values()]
  const sinceLast = {
    written,
    sends: counts.reduce((sum, count) => sum + count, 0),
    mostSends: Math.max(0, ...counts),
    ticks,
    leftToPoller: metrics.hotBroken,
  }
  sends.clear()
  written = ticks = metrics.hotBroken = 0
  return sinceLast
}
