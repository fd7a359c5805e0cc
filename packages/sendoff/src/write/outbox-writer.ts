import { type Clock, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
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
import type { DuplicateRow, InsertedRow, InsertResult, NewRow, OutboxStore, Row } from '../store.ts'
import { AmbientTransactions, noTransaction } from './ambient-transactions.ts'
import { encodeEvent } from './encode-event.ts'
import type { ColdReason, HotPath, HotSlot, LeftToPoller } from './hot-path.ts'
import { KeyLocksToTake, type WriteOrder } from './key-locks.ts'
import { TransactionScope, transactionEnded } from './transaction-scope.ts'
import type { TxContext } from './tx-context.ts'
import type { WriterHook } from './writer-hook.ts'

export interface OutboxWriterOptions<UserTx, StoreTx> {
  readonly store: OutboxStore<StoreTx>
  readonly txContext: AmbientTransactions<UserTx, StoreTx, never> | TxContext<StoreTx>
  readonly writerHook?: WriterHook
  readonly hotPath?: HotPath | undefined
  /** What has to be locked so that events are committed in the order of writing: nothing. */
  readonly writeOrder?: () => WriteOrder
  readonly codec?: JsonCodec
  readonly clock?: Clock
  readonly logger?: Logger
}

export interface WriteOptions<UserTx> {
  /** The transaction to write in, where it is not the ambient one. */
  readonly tx?: UserTx
}

/**
 * Writes events in the transaction of the data they are about.
 *
 * Whatever is written exists if and only if that transaction commits. Rows that the hot path has
 * room for are born with this process's lease, so that it can dispatch them right after the
 * commit while nobody else takes them.
 */
export class OutboxWriter<UserTx, StoreTx> {
  readonly #store: OutboxStore<StoreTx>
  readonly #txContext: AmbientTransactions<UserTx, StoreTx, never> | TxContext<StoreTx>
  readonly #hook: WriterHook | undefined
  readonly #hotPath: HotPath | undefined
  readonly #writeOrder: () => WriteOrder
  readonly #keyLocks = new KeyLocksToTake()
  readonly #codec: JsonCodec
  readonly #clock: Clock
  readonly #logger: Logger

  constructor(options: OutboxWriterOptions<UserTx, StoreTx>) {
    this.#store = options.store
    this.#txContext = options.txContext
    this.#hook = options.writerHook
    this.#hotPath = options.hotPath
    this.#writeOrder = options.writeOrder ?? (() => 'none')
    this.#codec = options.codec ?? JsonCodec.getDefault()
    this.#clock = options.clock ?? systemClock
    this.#logger = options.logger ?? standardLogger
  }

  /** Writes an event that is in its envelope already. Answers its id, or null if a hook suppressed it. */
  write(event: EventEnvelope | EventToWrite, options?: WriteOptions<UserTx>): Promise<string | null>
  /** Writes an event of a type known by name. The payload is any JSON value, or bytes. */
  write(
    type: string | PlainEventType,
    payload: unknown,
    options?: EventFields & WriteOptions<UserTx>,
  ): Promise<string | null>
  /** Writes a defined event. */
  write<Input, Output>(
    type: DefinedEvent<Input, Output>,
    payload: Input,
    options?: EventFields & WriteOptions<UserTx>,
  ): Promise<string | null>
  async write(
    first: unknown,
    second?: unknown,
    third?: EventFields & WriteOptions<UserTx>,
  ): Promise<string | null> {
    if (first instanceof EventEnvelope || isEventToWrite(first)) {
      const [id = null] = await this.writeAll([first], second as WriteOptions<UserTx>)
      return id
    }

    const [id = null] = await this.#writeIn(third?.tx, () => [
      encodeEvent(typeOf(first), second, fieldsOf(third), this.#codec, this.#clock.now()),
    ])
    return id
  }

  /** Writes events in one statement. Answers their ids in order, or nothing if a hook suppressed them. */
  async writeAll(
    events: readonly (EventEnvelope | EventToWrite)[],
    options: WriteOptions<UserTx> = {},
  ): Promise<string[]> {
    return this.#writeIn(options.tx, () => {
      const now = this.#clock.now()
      return events.map((event) =>
        event instanceof EventEnvelope
          ? event
          : encodeEvent(event.type, event.payload, event.fields ?? {}, this.#codec, now),
      )
    })
  }

  #writeIn(tx: UserTx | undefined, encode: () => readonly Encoded[]): Promise<string[]> {
    const context = this.#contextOf(tx)
    const write = () => this.#write(context, encode)
    return context.track === undefined ? write() : context.track(write)
  }

  // What is there already is not awaited: each turn costs as much as encoding an event.
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
    return await this.#insert(context, context.currentTransaction(), events)
  }

  #contextOf(tx: UserTx | undefined): TxContext<StoreTx> {
    if (!(this.#txContext instanceof AmbientTransactions)) return this.#txContext
    if (tx !== undefined) return this.#txContext.contextOf(tx)

    const scope = this.#txContext.current()
    if (scope === undefined) throw noTransaction()
    return scope
  }

  async #insert(
    context: TxContext<StoreTx>,
    tx: StoreTx,
    events: readonly EventEnvelope[],
  ): Promise<string[]> {
    const isObservable = context.observable !== false
    const batch = new WrittenBatch(events, isObservable ? this.#hotPath : undefined, this.#tellsOthers)
    let results: readonly InsertResult[]
    try {
      const locks = this.#keyLocks.for(this.#writeOrder(), context, batch.rows)
      if (locks !== undefined) await this.#store.keys?.lock(tx, locks)
      const announce = !isObservable || batch.isAnnounced
      results = await this.#store.insert(tx, batch.rows, this.#hotPath?.lease ?? noLease, announce)
    } catch (error) {
      batch.giveBack()
      throw error
    }

    const written = batch.written(results)
    if (written.length > 0) this.#follow(context, batch, written)
    return results.map((result, index) =>
      result.kind === 'duplicate' ? result.eventId : events[index]!.eventId,
    )
  }

  /**
   * Whether a transaction itself tells others of its events: where no other transaction of this process is open, a signal that is part of
   * it costs next to nothing. Many at once would hold each other up, and are better told of afterwards by one signal,
   * if there is somebody to give it.
   */
  get #tellsOthers(): boolean {
    if (this.#hotPath === undefined) return true
    return this.#txContext instanceof AmbientTransactions && this.#txContext.openCount === 1
  }

  // One registration per batch, however many events it has.
  #follow(context: TxContext<StoreTx>, batch: WrittenBatch, written: readonly EventEnvelope[]): void {
    if (this.#hotPath === undefined && this.#hook === undefined) return
    if (context.observable === false) this.#hotPath?.perhapsLater()

    context.afterCommit(() => {
      const kept = batch.committed(context.confirmsCommit ?? true, this.#clock.now())
      if (kept.length > 0) this.#call('afterCommit', kept)
    })
    context.afterRollback(() => {
      batch.giveBack()
      this.#call('afterRollback', written)
    })
    context.afterDoubt?.(() => {
      batch.inDoubt()
      this.#call('afterRollback', written)
    })
    this.#call('afterWrite', written)
  }

  #call(moment: 'afterWrite' | 'afterCommit' | 'afterRollback', events: readonly EventEnvelope[]): void {
    if (this.#hook === undefined) return
    const report = (error: unknown) =>
      this.#logger.error(`The writer hook failed in ${moment}: ${describeError(error)}`)
    try {
      const answer = this.#hook[moment]?.(events)
      if (answer instanceof Promise) answer.catch(report)
    } catch (error) {
      report(error)
    }
  }
}

type Encoded = EventEnvelope | Promise<EventEnvelope>

function isReady(event: Encoded): event is EventEnvelope {
  return event instanceof EventEnvelope
}

const noLease = { owner: '', ms: 0 }

/** The events of one insert, with the places that the hot path keeps for them. */
class WrittenBatch {
  readonly rows: readonly NewRow[]
  /** Whether the transaction itself is to tell other processes of rows that nobody holds. */
  readonly isAnnounced: boolean
  readonly #events: readonly EventEnvelope[]
  readonly #hotPath: HotPath | undefined
  readonly #places: (HotSlot | ColdReason)[]
  #results: readonly InsertResult[] = []

  constructor(events: readonly EventEnvelope[], hotPath: HotPath | undefined, tellsOthers: boolean) {
    this.#events = events
    this.#hotPath = hotPath
    this.#places = events.map((event) => hotPath?.reserve(event) ?? 'stopped')
    this.rows = events.map((event, index) => event.toRow(typeof this.#places[index] === 'object'))
    this.isAnnounced =
      tellsOthers && this.#places.some((place) => typeof place === 'string' && place !== 'delayed')
  }

  /** The events that are part of the transaction, as far as the store can tell by now. */
  written(results: readonly InsertResult[]): readonly EventEnvelope[] {
    this.#results = results
    return this.#withoutDuplicates()
  }

  /** The events that exist now. */
  committed(isConfirmed: boolean, now: number): readonly EventEnvelope[] {
    const kept = this.#withoutDuplicates()
    this.#places.forEach((place, index) => {
      const result = this.#resultOf(index)
      if (typeof place === 'string' || result?.kind === 'duplicate') return

      const row = this.rows[index]!
      if (isConfirmed && result?.certain) place.fill(bornRow(row, result, this.#hotPath!.lease.owner, now))
      else place.lookUp(row, false)
    })
    this.#leaveToPoller()
    return kept
  }

  inDoubt(): void {
    this.#places.forEach((place, index) => {
      if (typeof place === 'object') place.lookUp(this.rows[index]!, true)
    })
    this.#leaveToPoller()
  }

  #withoutDuplicates(): readonly EventEnvelope[] {
    if (this.#results.every(({ kind }) => kind === 'inserted')) return this.#events
    return this.#events.filter((_, index) => {
      const isDuplicate = this.#resultOf(index)?.kind === 'duplicate'
      if (isDuplicate) this.#giveBack(index)
      return !isDuplicate
    })
  }

  /** What became of a row; undefined as long as nobody knows. */
  #resultOf(index: number): InsertedRow | DuplicateRow | undefined {
    const result = this.#results[index]
    return result?.kind === 'queued' ? result.result() : result
  }

  #leaveToPoller(): void {
    const left: LeftToPoller[] = []
    this.#places.forEach((place, index) => {
      const isLeft = typeof place === 'string' && this.#resultOf(index)?.kind !== 'duplicate'
      const partition = this.rows[index]!.partitionNo
      if (isLeft) left.push({ event: this.#events[index]!, partition, reason: place })
    })
    if (left.length > 0) this.#hotPath?.leftToPoller(left, this.isAnnounced)
  }

  giveBack(): void {
    this.#places.forEach((_, index) => this.#giveBack(index))
  }

  #giveBack(index: number): void {
    const place = this.#places[index]
    if (typeof place === 'object') place.giveBack()
  }
}

/** The row as the database has it, known without reading it back. */
function bornRow(
  row: NewRow,
  { seq, deliveries }: { seq: number; deliveries: number },
  owner: string,
  now: number,
): Row {
  const { eventId, destination, eventType, aggregateType, aggregateId, tenantId, orderingKey, partitionNo } =
    row
  const { payload, contentType, headers, occurredAt } = row
  return {
    seq,
    eventId,
    destination,
    eventType,
    aggregateType,
    aggregateId,
    tenantId,
    orderingKey,
    partitionNo,
    payload,
    contentType,
    headers,
    attempts: 0,
    deliveries,
    losses: 0,
    availableAt: now,
    occurredAt,
    createdAt: now,
    lockedBy: owner,
  }
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
