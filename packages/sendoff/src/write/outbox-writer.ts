import { type Clock, systemClock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import { EventEnvelope } from '../event/event-envelope.ts'
import type { EventFields } from '../event/event-fields.ts'
import {
  type DefinedEvent,
  type EventToWrite,
  type EventType,
  isEventToWrite,
  type PlainEventType,
} from '../event/event-type.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { kindOf } from '../options.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import { engineMetrics, type MetricsExporter } from '../observe/metrics.ts'
import type { WriteContext } from '../observe/write-context.ts'
import type { OutboxStore } from '../store/index.ts'
import { AmbientTransactions } from './ambient-transactions.ts'
import { encodeEvent } from './encode-event.ts'
import { EventInserts } from './event-inserts.ts'
import { HookCalls } from './hook-calls.ts'
import type { HotPath } from './hot-path.ts'
import type { WriteOrder } from './key-locks.ts'
import { noTransaction, transactionEnded } from './transaction-errors.ts'
import { TransactionScope } from './transaction-scope.ts'
import type { TxContext } from './tx-context.ts'
import type { WriterHook } from './writer-hook.ts'
import type { DestinationsOf } from './written-batch.ts'

/** Options of `OutboxWriter`. */
export interface OutboxWriterOptions<UserTx, StoreTx> {
  /** The store that holds the events. */
  readonly store: OutboxStore<StoreTx>
  /** The transaction that a write belongs to. */
  readonly txContext: AmbientTransactions<UserTx, StoreTx, never> | TxContext<StoreTx>
  /** Called before and after each write, and after its commit or rollback. Default: none. */
  readonly writerHook?: WriterHook | undefined
  /** Takes the events after their commit. Default: none, so the poller delivers them. */
  readonly hotPath?: HotPath | undefined
  /** Returns the locks that keep commits in write order. Default: none. */
  readonly writeOrder?: () => WriteOrder
  /** Returns whether the next transaction has to signal for events of earlier ones. Default: never. */
  readonly takeLateSignal?: () => boolean
  /** Returns a function for the destinations of each event. Default: one destination, the empty one. */
  readonly destinationsOf?: () => DestinationsOf | undefined
  /** Encodes payloads as JSON. Default: `JsonCodec.getDefault()`. */
  readonly codec?: JsonCodec
  /** The time of the writer. Default: the clock of the machine. */
  readonly clock?: Clock
  /** Receives faults. Default: standard error. */
  readonly logger?: Logger
  /** Counts the events that were written. Default: none. */
  readonly metrics?: MetricsExporter | undefined
  /** Captures the context of the code that writes. Default: none. */
  readonly writeContext?: WriteContext | undefined
}

/** Options of a write. */
export interface WriteOptions<UserTx> {
  /** The transaction to write in. Default: the ambient one. */
  readonly tx?: UserTx
}

/**
 * Writes events in the transaction of the data they are about.
 *
 * An event exists if and only if that transaction commits. A row that gets a place in the hot queue is born
 * with this process's lease. So this process can dispatch it right after the commit, and no other process
 * takes it. `Id` is `string` for a writer without a hook that suppresses events.
 */
export class OutboxWriter<UserTx, StoreTx, Id extends string | null = string | null> {
  readonly #txContext: AmbientTransactions<UserTx, StoreTx, never> | TxContext<StoreTx>
  readonly #hook: WriterHook | undefined
  readonly #inserts: EventInserts<UserTx, StoreTx>
  readonly #codec: JsonCodec
  readonly #clock: Clock
  readonly #writeContext: WriteContext | undefined

  constructor(options: OutboxWriterOptions<UserTx, StoreTx>) {
    const { store, txContext, writerHook: hook, hotPath, writeOrder = noOrder } = options
    const { clock = systemClock, logger = standardLogger } = options
    const hookCalls = hook && new HookCalls({ hook, store, clock, logger })
    this.#txContext = txContext
    this.#hook = hook
    const metrics = engineMetrics(options.metrics)
    const onWritten = metrics.isOff ? undefined : (count: number) => metrics.addWritten(count)
    const { destinationsOf, takeLateSignal } = options
    this.#inserts = new EventInserts({
      store,
      txContext,
      hotPath,
      hookCalls,
      writeOrder,
      takeLateSignal,
      destinationsOf,
      clock,
      onWritten,
    })
    this.#codec = options.codec ?? JsonCodec.getDefault()
    this.#clock = clock
    this.#writeContext = options.writeContext
  }

  /** Writes an event that is in its envelope already. Returns its id, or null if a hook suppressed it. */
  write(event: EventEnvelope | EventToWrite, options?: WriteOptions<UserTx>): Promise<Id>
  /** Writes an event of a type given by name. The payload is any JSON value, or bytes. */
  write(
    type: string | PlainEventType,
    payload: unknown,
    options?: EventFields & WriteOptions<UserTx>,
  ): Promise<Id>
  /** Writes a defined event. */
  write<Input, Output>(
    type: DefinedEvent<Input, Output>,
    payload: Input,
    options?: EventFields & WriteOptions<UserTx>,
  ): Promise<Id>
  write(first: unknown, second?: unknown, third?: EventFields & WriteOptions<UserTx>): Promise<Id> {
    if (first instanceof EventEnvelope || isEventToWrite(first)) {
      return this.writeMade(() => first, second as WriteOptions<UserTx>)
    }
    return this.#writeOne(third?.tx, () =>
      encodeEvent(typeOf(first), second, fieldsOf(third), this.#codec, this.#clock.now()),
    )
  }

  /** Writes the event that `make` returns. An error of `make` is an error of the write. */
  writeMade(make: () => EventEnvelope | EventToWrite, options: WriteOptions<UserTx> = {}): Promise<Id> {
    return this.#writeOne(options.tx, () => this.#encode(make(), this.#clock.now()))
  }

  /**
   * Writes events in one statement. Returns their ids in order, or an empty list if a hook suppressed them.
   */
  writeAll(
    events: readonly (EventEnvelope | EventToWrite)[],
    options: WriteOptions<UserTx> = {},
  ): Promise<string[]> {
    return this.#tracked(options.tx, (context) =>
      this.#write(context, () => {
        const now = this.#clock.now()
        return events.map((event) => this.#encode(event, now))
      }),
    )
  }

  #encode(event: EventEnvelope | EventToWrite, now: number): Encoded {
    if (event instanceof EventEnvelope) return event
    return encodeEvent(event.type, event.payload, event.fields ?? {}, this.#codec, now)
  }

  #writeOne(tx: UserTx | undefined, encode: () => Encoded): Promise<Id> {
    return this.#tracked(tx, async (context) => {
      const [id = null] = await this.#write(context, () => [encode()])
      return id as Id
    })
  }

  /** Makes the transaction wait for a write, and undo itself if the write fails unnoticed. */
  #tracked<Result>(
    tx: UserTx | undefined,
    write: (context: TxContext<StoreTx>) => Promise<Result>,
  ): Promise<Result> {
    let context: TxContext<StoreTx>
    try {
      context = this.#contextOf(tx)
    } catch (error) {
      return Promise.reject(error)
    }
    return context.track === undefined ? write(context) : context.track(() => write(context))
  }

  // We await only promises: each turn of the event loop costs as much as encoding an event.
  async #write(context: TxContext<StoreTx>, encode: () => readonly Encoded[]): Promise<string[]> {
    const isActive = context.isTransactionActive()
    if (isActive !== true && !(await isActive)) {
      throw context instanceof TransactionScope ? transactionEnded() : noTransaction()
    }
    const encoded = encode()
    const written = encoded.every(isReady) ? encoded : await Promise.all(encoded.map(async (event) => event))
    const events = this.#hook?.beforeWrite === undefined ? written : await this.#hook.beforeWrite(written)
    if (events === null || events === undefined || events.length === 0) return []
    for (let part = context.openPart?.(); part !== undefined; part = context.openPart?.()) await part
    return this.#writeContext === undefined
      ? await this.#inserts.insert(context, events)
      : await this.#insertWithContext(this.#writeContext, context, events)
  }

  async #insertWithContext(
    writeContext: WriteContext,
    context: TxContext<StoreTx>,
    events: readonly EventEnvelope[],
  ): Promise<string[]> {
    const { eventType, eventId } = events[0]!
    const write = writeContext.begin({ eventType, eventId, count: events.length })
    try {
      const ids = await this.#inserts.insert(context, events, write)
      write.end()
      return ids
    } catch (error) {
      write.end(error)
      throw error
    }
  }

  #contextOf(tx: UserTx | undefined): TxContext<StoreTx> {
    if (!(this.#txContext instanceof AmbientTransactions)) return this.#txContext
    if (tx !== undefined) return this.#txContext.contextOf(tx)

    const scope = this.#txContext.current()
    if (scope === undefined) throw noTransaction()
    return scope
  }
}

function noOrder(): WriteOrder {
  return 'none'
}

type Encoded = EventEnvelope | Promise<EventEnvelope>

function isReady(event: Encoded): event is EventEnvelope {
  return event instanceof EventEnvelope
}

const noFields: EventFields = {}

function fieldsOf<UserTx>(options: (EventFields & WriteOptions<UserTx>) | undefined): EventFields {
  if (options?.tx === undefined) return options ?? noFields
  const fields = { ...options, tx: undefined }
  return fields
}

function typeOf(value: unknown): string | EventType {
  if (typeof value === 'string') return value
  if (typeof value === 'object' && value !== null && typeof (value as EventType).name === 'string') {
    return value as EventType
  }
  throw new OutboxError(
    'OUTBOX_INVALID_EVENT',
    `write takes an envelope, a defined event or the name of an event type, not ${kindOf(value)}.`,
  )
}
