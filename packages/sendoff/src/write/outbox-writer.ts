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
import type { DuplicateRow, InsertedRow, InsertResult, NewRow, OutboxStore, Row } from '../store/index.ts'
import { AmbientTransactions, noTransaction } from './ambient-transactions.ts'
import { encodeEvent } from './encode-event.ts'
import { eventExists } from './event-exists.ts'
import type { ColdReason, HotPath, HotSlot, LeftToPoller } from './hot-path.ts'
import { KeyLocksToTake, type WriteOrder } from './key-locks.ts'
import { TransactionScope, transactionEnded } from './transaction-scope.ts'
import type { TxContext } from './tx-context.ts'
import type { WriterHook } from './writer-hook.ts'

export interface OutboxWriterOptions<UserTx, StoreTx> {
  readonly store: OutboxStore<StoreTx>
  readonly txContext: AmbientTransactions<UserTx, StoreTx, never> | TxContext<StoreTx>
  readonly writerHook?: WriterHook | undefined
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
 * commit while nobody else takes them. `Id` is `string` for a writer without a hook that suppresses events.
 */
export class OutboxWriter<UserTx, StoreTx, Id extends string | null = string | null> {
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

  /** Writes an event that is in its envelope already. Returns its id; null where the hook suppressed it. */
  write(event: EventEnvelope | EventToWrite, options?: WriteOptions<UserTx>): Promise<Id>
  /** Writes an event of a type known by name. The payload is any JSON value, or bytes. */
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

  /** Writes the event that `make` returns. An error of `make` is one of the write. */
  writeMade(make: () => EventEnvelope | EventToWrite, options: WriteOptions<UserTx> = {}): Promise<Id> {
    return this.#writeOne(options.tx, () => this.#encode(make(), this.#clock.now()))
  }

  /** Writes events in one statement. Returns their ids in order, or nothing where the hook suppressed them. */
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

  /** Has the transaction wait for a write, and know of its failure. */
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
      if (locks !== undefined) await this.#store.orderingKeys?.lock(tx, locks)
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
      const isConfirmed = context.confirmsCommit ?? true
      batch.committed(isConfirmed, this.#clock.now(), this.#onKnown(batch, false, true))
    })
    context.afterRollback(() => {
      batch.giveBack()
      this.#call('afterRollback', written)
    })
    context.afterDoubt?.((isOver = false) => {
      batch.lookUp(!isOver, this.#onKnown(batch, !isOver, false))
    })
    this.#call('afterWrite', written)
  }

  /**
   * Tells the hook how a transaction ended, once that is known. Where the hot path has not found the events, the store is asked
   * for one of them: those of a batch are kept or lost together. The hook hears what the caller was told where it does not answer.
   */
  #onKnown(batch: WrittenBatch, inDoubt: boolean, wasToldOfCommit: boolean): OnKnown | undefined {
    if (this.#hook?.afterCommit === undefined && this.#hook?.afterRollback === undefined) return undefined

    return (isKept, hasLooked) => {
      const events = batch.kept()
      const [first] = events
      if (first === undefined) return
      if (isKept) return this.#call('afterCommit', events)

      const parts = { store: this.#store, clock: this.#clock }
      void eventExists(parts, first.eventId, inDoubt && !hasLooked).then((exists = wasToldOfCommit) =>
        this.#call(exists ? 'afterCommit' : 'afterRollback', events),
      )
    }
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

/** Told whether events were kept; false where that could not be seen. `hasLooked` says whether the database was asked for long enough. */
type OnKnown = (isKept: boolean, hasLooked: boolean) => void

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

  /** Takes what became of the rows, and returns the events that are part of the transaction, as far as the store can tell. */
  written(results: readonly InsertResult[]): readonly EventEnvelope[] {
    this.#results = results
    return this.kept()
  }

  /** Leads the events on after their commit. `onKnown` hears whether they were kept, at once where that is certain. */
  committed(isConfirmed: boolean, now: number, onKnown: OnKnown | undefined): void {
    this.kept()
    const uncertain: number[] = []
    let isAnyCertain = false
    this.#places.forEach((place, index) => {
      const result = this.#resultOf(index)
      if (result?.kind === 'duplicate') return

      const isCertain = isConfirmed && result?.certain === true
      isAnyCertain ||= isCertain
      if (typeof place === 'string') return
      if (isCertain) place.fill(bornRow(this.rows[index]!, result, this.#hotPath!.lease.owner, now))
      else uncertain.push(index)
    })
    this.#lookUp(uncertain, false, isAnyCertain ? undefined : onKnown)
    this.#leaveToPoller()
    if (isAnyCertain) onKnown?.(true, false)
  }

  /** Leads the events on after a commit whose outcome is open. */
  lookUp(inDoubt: boolean, onKnown: OnKnown | undefined): void {
    this.#lookUp([...this.#places.keys()], inDoubt, onKnown)
    this.#leaveToPoller()
  }

  #lookUp(indexes: readonly number[], inDoubt: boolean, onKnown: OnKnown | undefined): void {
    let asked = 0
    let isKnown = false
    const onAnswer =
      onKnown &&
      ((exists: boolean | undefined) => {
        asked--
        if (isKnown || (!exists && asked > 0)) return
        isKnown = true
        onKnown(exists === true, true)
      })
    for (const index of indexes) {
      const place = this.#places[index]!
      if (typeof place === 'string') continue
      asked++
      place.lookUp(this.rows[index]!, inDoubt, onAnswer)
    }
    if (asked === 0) onKnown?.(false, false)
  }

  /** The events without those whose idempotency key was used before, as far as that is known. */
  kept(): readonly EventEnvelope[] {
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
