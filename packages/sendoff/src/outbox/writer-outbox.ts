import type { BlockedKeyManager } from '../dead/blocked-key-manager.ts'
import type { DeadEventManager } from '../dead/dead-event-manager.ts'
import { didYouMean } from '../closest-name.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { EventFields } from '../event/event-fields.ts'
import type { DefinedEvent, EventToWrite, PlainEventType } from '../event/event-type.ts'
import type { PauseTarget } from '../store/index.ts'
import type { TransactionOptions } from '../transactions.ts'
import type { EventWriter } from '../write/event-writer.ts'
import type { OutboxWriter, WriteOptions } from '../write/outbox-writer.ts'
import type { TxContext } from '../write/tx-context.ts'
import type { OutboxCore } from './outbox-core.ts'

/**
 * The part of an outbox that every mode has: it writes events in the transaction of the data they are about, and finds
 * and decides about events that failed. `Outbox.writerOnly` makes one that is nothing more.
 */
export class WriterOutbox<
  Tx,
  StoreTx = Tx,
  TxOptions = TransactionOptions,
  Id extends string | null = string,
> implements EventWriter<Tx, TxOptions, Id> {
  readonly writer: OutboxWriter<Tx, StoreTx, Id>
  /** Finds events that were given up, and replays them. */
  readonly deadEvents: DeadEventManager
  readonly #core: OutboxCore<Tx, StoreTx, TxOptions, Id>

  constructor(core: OutboxCore<Tx, StoreTx, TxOptions, Id>) {
    this.#core = core
    this.writer = core.writer
    this.deadEvents = core.deadEvents
  }

  /** Finds ordering keys that are blocked, and decides about them. */
  get blockedKeys(): BlockedKeyManager {
    return this.#core.blockedKeys
  }

  /** The transaction the running code is part of, for callbacks after its commit or rollback. */
  get txContext(): TxContext<StoreTx> {
    return this.#core.transactions
  }

  /**
   * Brings the schema up to date, or only checks it with `migrate: false`, and begins to deliver where the mode does. Rejects
   * with `OUTBOX_STORE_SILENT` where the database does not answer.
   */
  async start(): Promise<this> {
    await this.#core.start()
    return this
  }

  /**
   * Runs `work` in one transaction; what it writes to the outbox is part of it. Inside another
   * transaction of this outbox it is a part of that one, which can fail alone. `options` are those of
   * the ORM or driver that runs it, such as an isolation level.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TxOptions): Promise<Result> {
    if (!this.#core.isOpen) return Promise.reject(this.#core.stateError('transaction'))
    return this.#core.transactions.transaction(work, options)
  }

  /** Writes an event that is in its envelope already. Returns its id; null where a `writerHook` suppressed it. */
  write(event: EventEnvelope | EventToWrite, options?: WriteOptions<Tx>): Promise<Id>
  /** Writes an event of a type known by name. The payload is any JSON value, or bytes. */
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

  /** Writes events in one statement. Returns their ids in order, or nothing where a `writerHook` suppressed them. */
  writeAll(events: readonly (EventEnvelope | EventToWrite)[], options?: WriteOptions<Tx>): Promise<string[]> {
    if (!this.#core.isWritable) return Promise.reject(this.#core.stateError('writeAll'))
    return this.writer.writeAll(events, options)
  }

  /** Stops delivering events of a type, or for a destination, on every node. They stay where they are. */
  async pause(target: PauseTarget): Promise<void> {
    const core = this.#core
    core.requireStarted('pause')
    await core.pauses.pause(target)
    core.announcer.announceControls()
    this.#warnOfUnknown(target)
  }

  /** Delivers events of a type, or for a destination, again. */
  async resume(target: PauseTarget): Promise<void> {
    const core = this.#core
    core.requireStarted('resume')
    await core.pauses.resume(target)
    core.engine?.wake()
    core.announcer.announceControls()
  }

  /** The types and destinations that are paused now. */
  paused(): Promise<readonly PauseTarget[]> {
    return this.#core.pauses.paused()
  }

  // Another process may have the listener, so the pause holds; but the name may be misspelt.
  #warnOfUnknown(target: PauseTarget): void {
    const types = this.#core.engine && this.#core.listeners.eventTypes
    if (!('eventType' in target) || types === undefined || types.includes(target.eventType)) return
    this.#core.logger.warn(
      `Event type "${target.eventType}" is paused, but no listener of this process is registered for it.` +
        didYouMean(target.eventType, types),
    )
  }

  /**
   * Stops taking events, lets queued and running work end within its time limits, hands back at
   * once what is not running, and closes the store. Never rejects over a failing database.
   */
  close(): Promise<void> {
    return this.#core.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
