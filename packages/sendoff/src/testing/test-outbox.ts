import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { DefinedEvent, PlainEventType } from '../event/event-type.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { EventStatus } from '../store/event-status.ts'
import { duration, having, invalidOption, oneOf, type OptionCheck } from '../options.ts'
import type {
  DeliveringMode,
  OrderedOptions,
  OutboxOptions,
  PartitionedOptions,
  SingleWriterOptions,
} from '../outbox/outbox-options.ts'
import { Outbox } from '../outbox/outbox.ts'
import { ListenerRegistry } from '../route/listener-registry.ts'
import { type OutboxStore, requireParts, type StoredRow, type StoreWith } from '../store/index.ts'
import { checkingEveryPayload } from '../write/encode-event.ts'
import { memoryStore, type MemoryTx } from '../stores/memory/index.ts'
import type { TransactionOptions } from '../transactions.ts'
import type { MaybeHook, WriterHook, WrittenId } from '../write/writer-hook.ts'
import { DeliveryRecorder, type RecordedDelivery } from './delivery-recorder.ts'
import { describeOutbox } from './describe-outbox.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
import { isOfType } from './is-of-type.ts'
import { storeTime } from './store-checks/check-steps.ts'
import { defaultTimeLimitMs, expectationFailed, withinTimeLimit } from './time-limit.ts'
import { type WrittenEvent, writtenEvent } from './written-event.ts'

/**
 * Options of `testOutbox`: those of an outbox in any mode, all optional. Each mode refuses the options of
 * others.
 */
export interface TestOutboxOptions<
  Tx,
  StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = WriterHook | undefined,
>
  extends
    Partial<SingleWriterOptions<Tx, StoreTx, TxOptions, Hook>>,
    Pick<OrderedOptions<Tx, StoreTx, TxOptions>, 'onFailure'>,
    Pick<PartitionedOptions<Tx, StoreTx, TxOptions>, 'onKeyFailure'> {
  /** Mode of the outbox: `'multiNode'` by default. */
  readonly mode?: TestOutboxMode
  /** Store of the outbox; in memory by default. */
  readonly store?: OutboxStore<StoreTx>
  /** The clock whose `now` the store uses. Without it, a store of your own and its outbox use real time. */
  readonly clock?: FakeClock
  /** Longest wait for anything, in ms of real time: 4 s by default. */
  readonly timeLimitMs?: number
}

/** The mode of a test outbox: any that delivers. */
export type TestOutboxMode = DeliveringMode

/** An outbox for tests: a real one, with a clock that the test moves. */
export interface TestOutbox<
  Tx,
  StoreTx = Tx,
  TxOptions = TransactionOptions,
  Id extends string | null = string,
> extends Outbox<Tx, StoreTx, TxOptions, Id> {
  /** The clock of the outbox. In real time its `advance` rejects. */
  readonly clock: FakeClock
  readonly store: StoreWith<StoreTx, 'people'>
  /** Every finished delivery, failed ones included, oldest first. */
  readonly deliveries: readonly RecordedDelivery[]

  /** Returns the events in the table as they are now, in write order. */
  written(type?: string | PlainEventType): Promise<readonly WrittenEvent[]>
  written<Input, Output>(type: DefinedEvent<Input, Output>): Promise<readonly WrittenEvent<Input>[]>

  /** Resolves when all due events are delivered and their outcomes are in the table. */
  drain(): Promise<void>

  /**
   * Moves the clock by `ms`, and drains whenever something falls due on the way. For a listener that itself
   * waits for this clock use `clock.advance()`, which does not wait for listeners. Rejects in real time.
   */
  advance(ms: number): Promise<void>

  /**
   * Resolves with the first event of this type that is DONE, or the first that also fits the predicate. It
   * may have been DONE before the call. Does not move the clock.
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

/** After this much real time a running clock shows another millisecond. */
const certainlyLaterMs = 5

/** The engine writes outcomes to the store after this time, or when it is drained. */
const settleWaitMs = 5

/** Interval between checks of the outbox, in real time, during a wait. */
const lookMs = 10

/** Longest wait of `close()` for listeners, in real time, before it moves the clock past their time limit. */
const patienceMs = 1_000

const everyRow = 1_000_000

/**
 * Defaults for a clock that stands still. No other process could take over, and the outbox finds due events
 * by reading the table. With fewer timers on the way, a year passes quickly.
 */
const standingStill = {
  leaseMs: dayMs,
  timeoutGraceMs: 30_000,
  poller: { intervalMs: dayMs, busyIntervalMs: dayMs },
} satisfies Partial<OutboxOptions<never, never>>

const realTime: FakeClock = {
  ...systemClock,
  advance: () =>
    Promise.reject(
      new OutboxError(
        'OUTBOX_INVALID_OPTION',
        'This test outbox lives in real time, which advance() cannot move. Wait with waitFor() or drain(), or give a store ' +
          'that takes `now` (memoryStore, sqliteStore) and testOutbox the same fakeClock().',
      ),
    ),
}

/**
 * Starts an outbox in memory that accepts every event, or has the given listeners. The store or
 * `transactions` decides the type of the transaction, never the expected result: an outbox in memory does not
 * use an ORM.
 */
export async function testOutbox<
  StoreTx = MemoryTx,
  Tx = StoreTx,
  TxOptions = TransactionOptions,
  Hook extends MaybeHook = MaybeHook,
>(
  options: TestOutboxOptions<Tx, StoreTx, TxOptions, Hook> = {},
): Promise<TestOutbox<NoInfer<Tx>, NoInfer<StoreTx>, NoInfer<TxOptions>, WrittenId<NoInfer<Hook>>>> {
  const { mode = 'multiNode', timeLimitMs = defaultTimeLimitMs, ...outboxOptions } = options
  checkTestOptions(options)
  const inRealTime = options.store !== undefined && options.clock === undefined
  const clock = inRealTime ? realTime : (options.clock ?? fakeClock())
  const given = options.store ?? (memoryStore({ now: clock.now }) as unknown as OutboxStore<StoreTx>)
  const store = requireParts(given, ['people'], 'testOutbox')
  if (options.store !== undefined) await requireTimeOf(store, options.clock)
  const recorder = new DeliveryRecorder()

  const outbox = await Outbox[mode]<StoreTx, Tx, TxOptions, Hook>({
    listeners: new ListenerRegistry().registerDefault(() => {}),
    logger: false,
    ...(inRealTime ? {} : standingStill),
    ...outboxOptions,
    poller: { ...(inRealTime ? {} : standingStill.poller), ...options.poller },
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
    const rows = await store.people.query({ limit: everyRow })
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
    if (inRealTime) return clock.advance(ms)
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
    const pending = await store.people.query({
      status: [EventStatus.NEW, EventStatus.RETRY],
      limit: everyRow,
    })
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

      // A listener that is still running keeps a drain from writing the outcomes of the others.
      if (draining !== undefined && recorder.hasUnsettled && !inRealTime) await clock.advance(settleWaitMs)
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
    const rows: readonly StoredRow[] = await store.people.query({ limit: everyRow })
    return describeOutbox({
      deliveries: recorder.deliveries,
      rows,
      running: recorder.running,
      now: clock.now(),
    })
  }

  async function close(): Promise<void> {
    const closing = closeOutbox()
    if (inRealTime) return closing
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

function checkTestOptions(options: object): void {
  const checks: Record<string, OptionCheck> = {
    mode: oneOf('singleNode', 'multiNode', 'singleWriter', 'ordered', 'partitioned'),
    clock: having('advance', 'monotonic', 'now', 'schedule'),
    timeLimitMs: duration,
  }
  for (const [name, check] of Object.entries(checks)) {
    const value = (options as Record<string, unknown>)[name]
    if (value !== undefined && check(value) !== undefined)
      throw invalidOption('testOutbox', name, value, check)
  }
}

/**
 * Refuses a store that does not use the outbox's clock. Rows would fall due on one clock and not on the
 * other, and would never be delivered.
 */
async function requireTimeOf<Tx>(
  store: StoreWith<Tx, 'people'>,
  clock: FakeClock | undefined,
): Promise<void> {
  await store.migrate()
  const first = await storeTime(store)
  await delay(certainlyLaterMs)
  const later = await storeTime(store)
  if (clock === undefined && first === later) {
    throw invalidOption('testOutbox', 'clock', clock, () => 'the fakeClock() whose now() the store was given')
  }
  if (clock !== undefined && (first !== later || later !== Math.floor(clock.now()))) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'The store of testOutbox does not use the "clock" of its outbox, so nothing falls due when that clock is moved. ' +
        'Give memoryStore or sqliteStore `now: clock.now`. A database has its own clock: leave "clock" out to test in real time.',
    )
  }
}
