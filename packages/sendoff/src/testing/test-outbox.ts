import { setTimeout as delay } from 'node:timers/promises'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { DefinedEvent, PlainEventType } from '../event/event-type.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { EventStatus } from '../event/status.ts'
import { duration, having, invalidOption, oneOf, type OptionCheck } from '../options.ts'
import type { OutboxOptions } from '../outbox-options.ts'
import { Outbox } from '../outbox.ts'
import { ListenerRegistry } from '../route/listener-registry.ts'
import type { OutboxStore, StoredRow } from '../store.ts'
import { checkingEveryPayload } from '../write/encode-event.ts'
import { memoryStore, type MemoryTx } from '../stores/memory/index.ts'
import { DeliveryRecorder, type RecordedDelivery } from './delivery-recorder.ts'
import { describeOutbox } from './describe-outbox.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
import { isOfType } from './is-of-type.ts'
import { defaultTimeLimitMs, expectationFailed, withinTimeLimit } from './time-limit.ts'
import { type WrittenEvent, writtenEvent } from './written-event.ts'

/** Those of an outbox, none of them required. */
export interface TestOutboxOptions<Tx, StoreTx> extends Partial<OutboxOptions<Tx, StoreTx>> {
  /** `'multiNode'`. */
  readonly mode?: TestOutboxMode
  /** A store that goes by the same clock, which then is needed too. In memory where left out. */
  readonly store?: OutboxStore<StoreTx>
  readonly clock?: FakeClock
  /** How long anything is waited for, in real time: 4 s. */
  readonly timeLimitMs?: number
}

export type TestOutboxMode = 'singleNode' | 'multiNode' | 'ordered'

/** An outbox for tests: a real one, in a time of its own that the test moves. */
export interface TestOutbox<Tx, StoreTx = Tx> extends Outbox<Tx, StoreTx> {
  readonly clock: FakeClock
  readonly store: OutboxStore<StoreTx>
  /** Every delivery that has come to its end, failed ones included, oldest first. */
  readonly deliveries: readonly RecordedDelivery[]

  /** The events in the table as they are now, in write order. */
  written(type?: string | PlainEventType): Promise<readonly WrittenEvent[]>
  written<Input, Output>(type: DefinedEvent<Input, Output>): Promise<readonly WrittenEvent<Input>[]>

  /** Resolves when all that is due now has been delivered and its outcome is in the table. */
  drain(): Promise<void>

  /**
   * Moves the clock by `ms` and drains at every moment on the way at which something falls due. A
   * listener that itself waits for this clock is for `clock.advance()`, which waits for nobody.
   */
  advance(ms: number): Promise<void>

  /**
   * Resolves with the first event of this type, or the first that fits, once it is DONE: also when it
   * has been before the call. Does not move the clock.
   */
  waitFor(
    type: string | PlainEventType,
    predicate?: (event: EventEnvelope) => boolean,
  ): Promise<EventEnvelope>
  waitFor<Input, Output>(
    type: DefinedEvent<Input, Output>,
    predicate?: (event: EventEnvelope<Output>) => boolean,
  ): Promise<EventEnvelope<Output>>
}

type AnyEventType = string | PlainEventType | DefinedEvent<never, unknown>

const dayMs = 86_400_000

/** The engine writes outcomes to the store when so much time has passed, or when it is drained. */
const settleWaitMs = 5

/** How often the outbox is looked at, in real time, while something is waited for. */
const lookMs = 10

/** How long `close()` waits for listeners at the most, in real time, before the clock is moved to end their time. */
const patienceMs = 1_000

const everyRow = 1_000_000

/** Starts an outbox in memory that takes every event, or has the listeners that it is given. */
export async function testOutbox<StoreTx = MemoryTx, Tx = StoreTx>(
  options: TestOutboxOptions<Tx, StoreTx> = {},
): Promise<TestOutbox<Tx, StoreTx>> {
  const { mode = 'multiNode', timeLimitMs = defaultTimeLimitMs, ...outboxOptions } = options
  checkTestOptions(options)
  const clock = options.clock ?? fakeClock()
  const store = options.store ?? (memoryStore({ now: clock.now }) as unknown as OutboxStore<StoreTx>)
  const recorder = new DeliveryRecorder()

  const outbox = await Outbox[mode]<StoreTx, Tx>({
    listeners: new ListenerRegistry().registerDefault(() => {}),
    logger: false,
    // Nobody else is here who could take over, and due events are found by looking at the table:
    // with less to do on the way, a year passes quickly.
    leaseMs: dayMs,
    timeoutGraceMs: 30_000,
    ...outboxOptions,
    poller: { intervalMs: dayMs, busyIntervalMs: dayMs, ...options.poller },
    interceptors: [recorder.interceptor, ...(options.interceptors ?? [])],
    store: recorder.observed(store),
    codec: checkingEveryPayload(options.codec ?? JsonCodec.getDefault()),
    clock,
  }).start()
  const drainOutbox = outbox.drain.bind(outbox)
  const closeOutbox = outbox.close.bind(outbox)
  let closed: Promise<void> | undefined

  return Object.assign(outbox, {
    clock,
    store,
    deliveries: recorder.deliveries,
    written: written as TestOutbox<Tx, StoreTx>['written'],
    drain,
    advance,
    waitFor: waitFor as TestOutbox<Tx, StoreTx>['waitFor'],
    close: () => (closed ??= close()),
  })

  async function written(type?: AnyEventType): Promise<readonly WrittenEvent[]> {
    const rows = await store.query({ limit: everyRow })
    const { codec = JsonCodec.getDefault() } = options
    return rows
      .filter((row) => type === undefined || isOfType(row, type))
      .map((row) => writtenEvent(row, codec))
  }

  function drain(): Promise<void> {
    return withinTimeLimit(drainOutbox(), timeLimitMs, async () => {
      const expected = `Expected everything that is due to be delivered within ${timeLimitMs} ms of real time, but it was not.`
      return `${expected}\n${await snapshot()}`
    })
  }

  async function advance(ms: number): Promise<void> {
    const end = clock.now() + ms
    await drain()
    for (let next = await nextDue(end); next !== undefined; next = await nextDue(end)) {
      await clock.advance(next - clock.now())
      await drain()
    }
    await clock.advance(end - clock.now())
    await drain()
  }

  async function nextDue(end: number): Promise<number | undefined> {
    const pending = await store.query({ status: [EventStatus.NEW, EventStatus.RETRY], limit: everyRow })
    const times = pending.map((row) => row.availableAt).filter((time) => time > clock.now() && time <= end)
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b))
  }

  async function waitFor(
    type: AnyEventType,
    predicate?: (event: EventEnvelope<never>) => boolean,
  ): Promise<EventEnvelope> {
    const fits = ({ outcome, event }: RecordedDelivery) =>
      outcome === 'done' && isOfType(event, type) && (predicate?.(event as EventEnvelope<never>) ?? true)
    const endsAt = performance.now() + timeLimitMs
    let draining: Promise<void> | undefined
    let failure: { readonly error: unknown } | undefined

    for (;;) {
      const found = recorder.deliveries.find(fits)
      if (found !== undefined) return found.event
      if (failure !== undefined) throw failure.error
      if (performance.now() >= endsAt) throw expectationFailed(await notDelivered(type, predicate))

      // A listener that is still running keeps a drain from writing what the others have done.
      if (draining !== undefined && recorder.hasUnsettled) await clock.advance(settleWaitMs)
      draining ??= drainOutbox()
        .catch((error: unknown) => void (failure = { error }))
        .finally(() => (draining = undefined))
      await Promise.race([recorder.changed(), delay(lookMs)])
    }
  }

  async function notDelivered(type: AnyEventType, predicate: unknown): Promise<string> {
    const name = typeof type === 'string' ? type : type.name
    const which = predicate === undefined ? `"${name}" event` : `"${name}" event that fits the predicate`
    return `Expected a ${which} to be delivered within ${timeLimitMs} ms of real time, but there was none.\n${await snapshot()}`
  }

  async function snapshot(): Promise<string> {
    const rows: readonly StoredRow[] = await store.query({ limit: everyRow })
    return describeOutbox({
      deliveries: recorder.deliveries,
      rows,
      running: recorder.running,
      now: clock.now(),
    })
  }

  async function close(): Promise<void> {
    const closing = closeOutbox()
    const patience = new AbortController()
    const isOver = delay(Math.min(patienceMs, timeLimitMs), true, { signal: patience.signal }).catch(
      () => false,
    )
    const isLate = await Promise.race([closing.then(() => false), isOver])
    patience.abort()
    if (isLate) await clock.advance(dayMs)
    await closing
  }
}

function checkTestOptions(options: { readonly store?: unknown; readonly clock?: unknown }): void {
  const checks: Record<string, OptionCheck> = {
    mode: oneOf('singleNode', 'multiNode', 'ordered'),
    clock: having('advance', 'monotonic', 'now', 'schedule'),
    timeLimitMs: duration,
  }
  for (const [name, check] of Object.entries(checks)) {
    const value = (options as Record<string, unknown>)[name]
    if (value !== undefined && check(value) !== undefined)
      throw invalidOption('testOutbox', name, value, check)
  }
  if (options.store !== undefined && options.clock === undefined) {
    throw invalidOption(
      'testOutbox',
      'clock',
      undefined,
      () => 'the fakeClock() whose now() the store was given',
    )
  }
}
