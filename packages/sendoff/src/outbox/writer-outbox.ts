import type { BlockedKeyManager } from '../dead/blocked-key-manager.ts'
import type { DeadEventManager } from '../dead/dead-event-manager.ts'
import { didYouMean } from '../closest-name.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { EventFields } from '../event/event-fields.ts'
import type { DefinedEvent, EventToWrite, PlainEventType } from '../event/event-type.ts'
import type { OutboxHealth } from '../observe/health.ts'
import type { OutboxEvents } from '../observe/outbox-events.ts'
import type { CancelAnswer, PauseTarget } from '../store/index.ts'
import type { TransactionOptions } from '../transactions.ts'
import type { EventWriter } from '../write/event-writer.ts'
import type { OutboxWriter, WriteOptions } from '../write/outbox-writer.ts'
import type { TxContext } from '../write/tx-context.ts'
import type { CancelOptions, CancelTarget } from './cancel-event.ts'
import { offerInboxParts } from './inbox-parts.ts'
import type { OutboxCore } from './outbox-core.ts'

/**
 * The part of an outbox that every mode has. It writes events in the transaction of the data they are about,
 * and lets operators find failed events and decide about them. `Outbox.writerOnly` returns just this part.
 */
export class WriterOutbox<
  Tx,
  StoreTx = Tx,
  TxOptions = TransactionOptions,
  Id extends string | null = string,
> implements EventWriter<Tx, TxOptions, Id> {
  /** Writes the events. */
  readonly writer: OutboxWriter<Tx, StoreTx, Id>
  /** Finds and replays DEAD events. */
  readonly deadEvents: DeadEventManager
  readonly #core: OutboxCore<Tx, StoreTx, TxOptions, Id>

  constructor(core: OutboxCore<Tx, StoreTx, TxOptions, Id>) {
    this.#core = core
    this.writer = core.writer
    this.deadEvents = core.deadEvents
    offerInboxParts(this, core.inboxParts)
  }

  /** Finds blocked ordering keys, and unblocks them. */
  get blockedKeys(): BlockedKeyManager {
    return this.#core.blockedKeys
  }

  /** Subscribes to failures, dead and blocked events, and outages. */
  get events(): OutboxEvents {
    return this.#core.events
  }

  /** Returns whether this process is live and ready, why not, and what it knows about the table. */
  health(): Promise<OutboxHealth> {
    return this.#core.health()
  }

  /**
   * The transaction that the running code is part of. It takes callbacks to run after its commit or rollback.
   */
  get txContext(): TxContext<StoreTx> {
    return this.#core.transactions
  }

  /**
   * Brings the schema up to date, or only checks it with `migrate: false`. Then begins to deliver if the mode
   * delivers. Rejects with `OUTBOX_STORE_SILENT` if the database does not answer.
   */
  async start(): Promise<this> {
    await this.#core.start()
    return this
  }

  /**
   * Runs `work` in one transaction. Events that `work` writes are part of it. A transaction inside another
   * one of this outbox is a part of it that can fail alone. `options` go to the ORM or driver that runs the
   * transaction, such as an isolation level.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TxOptions): Promise<Result> {
    if (!this.#core.isOpen) return Promise.reject(this.#core.stateError('transaction'))
    return this.#core.transactions.transaction(work, options)
  }

  /**
   * Writes an event that is in its envelope already. Returns its id, or null if a `writerHook` suppressed it.
   */
  write(event: EventEnvelope | EventToWrite, options?: WriteOptions<Tx>): Promise<Id>
  /** Writes an event of a type given by name. The payload is any JSON value, or bytes. */
  write(
    type: string | PlainEventType,
    payload: unknown,
    options?: EventFields & WriteOptions<Tx>,
  ): Promise<Id>
  /** Writes a defined event. */
  write<Input, Output>(
    type: DefinedEvent<Input, Output>,
    payload: Input,
    options?: EventFields & WriteOptions<Tx>,
  ): Promise<Id>
  write(first: never, second?: unknown, third?: EventFields & WriteOptions<Tx>): Promise<Id> {
    if (!this.#core.isWritable) return Promise.reject(this.#core.stateError('write'))
    return this.writer.write(first, second, third)
  }

  /**
   * Writes events in one statement. Returns their ids in order, or an empty list if a `writerHook` suppressed
   * them.
   */
  writeAll(events: readonly (EventEnvelope | EventToWrite)[], options?: WriteOptions<Tx>): Promise<string[]> {
    if (!this.#core.isWritable) return Promise.reject(this.#core.stateError('writeAll'))
    return this.writer.writeAll(events, options)
  }

  /**
   * Makes a pending event DEAD that no worker holds, by its id or by its idempotency key. It is part of the
   * caller's transaction, if there is one. Rows that a worker holds are returned as `held`, and stay.
   */
  cancel(target: CancelTarget, options?: CancelOptions<Tx>): Promise<CancelAnswer> {
    return this.#core.cancel(target, options)
  }

  /**
   * Stops the delivery of an event type, or to a destination, on every node. Its events stay in the table.
   */
  async pause(target: PauseTarget): Promise<void> {
    const core = this.#core
    core.requireStarted('pause')
    await core.pauses.pause(target)
    core.announcer.announceControls()
    this.#warnOfUnknown(target)
  }

  /** Ends a pause: events of the type, or for the destination, are delivered again. */
  async resume(target: PauseTarget): Promise<void> {
    const core = this.#core
    core.requireStarted('resume')
    await core.pauses.resume(target)
    core.engine?.wake()
    core.announcer.announceControls()
  }

  /** Returns the types and destinations that are paused now. */
  paused(): Promise<readonly PauseTarget[]> {
    return this.#core.pauses.paused()
  }

  // The pause holds all the same, because another process may know the name. But it may be misspelt.
  #warnOfUnknown(target: PauseTarget): void {
    const { engine, listeners, logger, knownDestinations } = this.#core
    const isType = 'eventType' in target
    const name = isType ? target.eventType : target.destination
    const known = isType ? engine && listeners.eventTypes : knownDestinations
    if (known === undefined || known.includes(name)) return
    const [what, problem] = isType
      ? ['Event type', 'no listener of this process is registered for it']
      : ['Destination', 'no routing names it']
    logger.warn(`${what} "${name}" is paused, but ${problem}.${didYouMean(name, known)}`)
  }

  /**
   * Stops taking events, lets queued and running work end within its time limits, and hands the rest back at
   * once. Then closes the store. Never rejects because of a failing database.
   */
  close(): Promise<void> {
    return this.#core.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
