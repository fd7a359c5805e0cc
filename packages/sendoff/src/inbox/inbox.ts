import { OutboxError } from '../errors.ts'
import { delay } from '../clock.ts'
import { type InboxParts, inboxPartsOf } from '../outbox/inbox-parts.ts'
import { insideSpan } from '../observe/safe-tracing.ts'
import type { OutboxInbox } from '../store/index.ts'
import type { TransactionOptions } from '../transactions.ts'
import type { WriteOptions } from '../write/outbox-writer.ts'
import { durationText } from '../duration-text.ts'
import type { OutboxPurgeScheduler } from '../purge/outbox-purge-scheduler.ts'
import { type Acceptance, eventOfMessage, type InboxMessage } from './accept-message.ts'
import {
  checkInboxOptions,
  checkProcessOptions,
  inboxDefaults,
  type InboxOptions,
  notAnOutbox,
  type ProcessOptions,
} from './inbox-options.ts'
import { markPurge } from './mark-purge.ts'
import { checkedMessageId, type MessageId } from './message-id.ts'

/**
 * What became of a message. `processed`: its effects are committed now. `duplicate`: they were committed
 * before. `busy`: another transaction processes it now; do not acknowledge the message, and try it later.
 */
export type ProcessOutcome = 'processed' | 'duplicate' | 'busy'

/** How many times to run a unit that the database undoes because of a conflict. */
const attempts = 5

/**
 * Gives the messages of a consumer their effects exactly once.
 *
 * A broker delivers a message at least once. The inbox marks the message in the same transaction as its
 * effects, so that a message that comes again has no second effect. The mark belongs to the consumer and the
 * message: two consumers each process a message once.
 */
export class Inbox<Tx, StoreTx = Tx, TxOptions = TransactionOptions> {
  /** The name that marks belong to. */
  readonly consumer: string
  /** How long marks are kept, in milliseconds. */
  readonly retentionMs: number
  readonly #parts: InboxParts<Tx, StoreTx, TxOptions>
  readonly #purge: OutboxPurgeScheduler | undefined
  readonly #warnedOf = new Set<string>()

  constructor(options: InboxOptions<Tx, StoreTx, TxOptions>) {
    checkInboxOptions(options)
    const parts = inboxPartsOf<Tx, StoreTx, TxOptions>(options.outbox)
    if (parts === undefined) throw notAnOutbox()
    const { consumer, retentionMs = inboxDefaults.retentionMs, purge = {} } = options
    this.consumer = consumer
    this.retentionMs = retentionMs
    this.#parts = parts
    const { inbox } = parts.limited
    if (inbox === undefined || retentionMs === Infinity) return
    const { clock, logger, recovery } = parts
    this.#purge = markPurge({ inbox, consumer, retentionMs, options: purge || {}, clock, logger, recovery })
    if (purge !== false) parts.attach(this.#purge)
  }

  /**
   * Marks a message and runs `handler` in one transaction, unless the message has a mark already. Events that
   * the handler writes to the outbox are part of it. A handler that fails leaves neither mark nor effects,
   * and `process` rejects with its error: do not acknowledge the message then.
   *
   * In an ambient transaction, or one that `tx` names, mark and effects are a part of that transaction and
   * share its fate. Otherwise the inbox begins a transaction of its own. If the database undoes that because
   * of a conflict with another one, the inbox runs the whole of it again.
   */
  process(
    message: MessageId,
    handler: (tx: Tx) => unknown,
    options?: ProcessOptions<Tx, TxOptions> & { readonly wait?: true },
  ): Promise<Exclude<ProcessOutcome, 'busy'>>
  process(
    message: MessageId,
    handler: (tx: Tx) => unknown,
    options?: ProcessOptions<Tx, TxOptions>,
  ): Promise<ProcessOutcome>
  async process(
    message: MessageId,
    handler: (tx: Tx) => unknown,
    options: ProcessOptions<Tx, TxOptions> = {},
  ): Promise<ProcessOutcome> {
    checkProcessOptions(options)
    const messageId = checkedMessageId(message)
    const { requireOpen, tracing } = this.#parts
    const unit = this.#unit(messageId, handler, options.wait ?? true)
    requireOpen('process')
    const run = (): Promise<ProcessOutcome> => this.#run(unit, options)
    if (tracing === undefined) return await run()
    const { eventType, headers = {} } = typeof message === 'object' ? message : {}
    const span = tracing.process?.({
      operation: 'process',
      messageId,
      messageType: options.type ?? eventType,
      consumer: this.consumer,
      headers: options.headers ?? headers,
    })
    return await insideSpan(span, run, (outcome) => outcome)
  }

  /**
   * Makes a message an event of the outbox, whose listeners then process it with retries, in order, and with
   * DEAD events for operators. Acknowledge the message when this resolves. A message that was accepted before
   * adds nothing. In an ambient transaction, or one that `tx` names, the event is a part of that.
   */
  async accept(message: InboxMessage, options?: WriteOptions<Tx>): Promise<Acceptance> {
    const accept = async (): Promise<Acceptance> => (await this.acceptAll([message], options))[0]!
    const { tracing } = this.#parts
    if (tracing === undefined) return await accept()
    const { id, type, headers = {} } = message ?? {}
    const messageType = typeof type === 'string' ? type : type?.name
    const span = tracing.process?.({
      operation: 'accept',
      messageId: String(id),
      messageType,
      consumer: this.consumer,
      headers,
    })
    return await insideSpan(span, accept, ({ outcome }) => outcome)
  }

  /** Accepts messages in one statement. Returns what became of each, in order. */
  async acceptAll(messages: readonly InboxMessage[], options: WriteOptions<Tx> = {}): Promise<Acceptance[]> {
    const { transactions, writer, codec, clock, requireOpen } = this.#parts
    const now = clock.now()
    const events = await Promise.all(
      messages.map((message) => eventOfMessage(this.consumer, message, codec, now)),
    )
    requireOpen('accept')
    const write = () => writer.writeAll(events, options)
    const ids = await (options.tx !== undefined || transactions.isTransactionActive()
      ? write()
      : transactions.transaction(write))
    return events.map(({ eventId }, index) => {
      const id = ids[index]
      if (id === undefined) return { outcome: 'suppressed', eventId: null }
      return { outcome: id === eventId ? 'accepted' : 'duplicate', eventId: id }
    })
  }

  /**
   * Deletes the marks of this consumer that are older than `retentionMs`, in small batches. Returns how many.
   * An inbox does so by itself, unless its option `purge` is false.
   */
  async purge(): Promise<number> {
    this.#requireInbox()
    this.#parts.requireOpen('purge')
    return (await this.#purge?.runOnce())?.deletedRows ?? 0
  }

  /**
   * Warns, once for each source, if `source` may deliver a message again after its mark is gone: such a
   * message has a second effect. `redeliveryMs` is how long the source keeps messages, or Infinity. With
   * `by: 'accept'`, messages are only accepted, and known by their idempotency keys instead of marks.
   */
  expectRedelivery(source: string, redeliveryMs: number, by: 'process' | 'accept' = 'process'): void {
    const [keepMs, what, advice] =
      by === 'process'
        ? [this.retentionMs, 'marks', 'Raise the option retentionMs of the inbox']
        : [
            this.#parts.keyRetentionMs,
            'keys of accepted messages',
            'Raise purge.idempotencyRetentionMs of the outbox',
          ]
    if (redeliveryMs <= keepMs || this.#warnedOf.has(source)) return
    this.#warnedOf.add(source)
    this.#parts.logger.warn(
      `Inbox "${this.consumer}" keeps ${what} for ${durationText(keepMs)}, but ${source} may deliver a message ` +
        `again after ${redeliveryMs === Infinity ? 'any time' : durationText(redeliveryMs)}. Such a message has a second effect. ` +
        `${advice}, or let the broker keep messages for less long.`,
    )
  }

  async #run(unit: Unit<Tx>, options: ProcessOptions<Tx, TxOptions>): Promise<ProcessOutcome> {
    const { transactions } = this.#parts
    try {
      if (options.tx !== undefined) return await this.#within(options.tx as Tx & object, unit.run)
      if (transactions.isTransactionActive()) return await transactions.transaction(unit.run)
      return await this.#alone(unit.run, options.transaction)
    } catch (error) {
      if (unit.wasBusy()) return 'busy'
      throw error
    }
  }

  /** Returns the work of one transaction: the mark, then the effects. It may run again. */
  #unit(messageId: string, handler: (tx: Tx) => unknown, wait: boolean): Unit<Tx> {
    const { transactions } = this.#parts
    const inbox = this.#requireInbox()
    let isBusy = false
    const run = async (tx: Tx): Promise<ProcessOutcome> => {
      const scope = transactions.current()!
      const mark = { tx: scope.currentTransaction(), consumer: this.consumer, messageId }
      const answer = await inbox.mark({ ...mark, wait })
      isBusy = answer === 'busy'
      // Undoes the transaction, or the part of one: the database may accept nothing else in it.
      if (isBusy) throw new Error('Another transaction processes the message now.')
      if (answer === 'duplicate') return 'duplicate'

      await handler(tx)
      // An ORM may report a commit although the database rolls back after an error that was swallowed.
      if (!scope.confirmsCommit && !(await inbox.isMarked(mark))) throw markLost()
      return 'processed'
    }
    return { run, wasBusy: () => isBusy }
  }

  async #within<Result>(tx: Tx & object, unit: (tx: Tx) => Promise<Result>): Promise<Result> {
    const { transactions } = this.#parts
    if (!(await transactions.contextOf(tx).isTransactionActive())) throw notInTransaction()
    return await transactions.within(tx, unit)
  }

  /** Runs the unit in a transaction of its own, and all of it again after a conflict. */
  async #alone<Result>(unit: (tx: Tx) => Promise<Result>, options: TxOptions | undefined): Promise<Result> {
    const { transactions, store, clock, random } = this.#parts
    for (let attempt = 1; ; attempt++) {
      try {
        return await transactions.transaction(unit, options)
      } catch (error) {
        const isConflict = store.isConflict?.(transactions.databaseError(error)) ?? false
        if (!isConflict || attempt === attempts) throw error
      }
      // Random, so that transactions that collided do not collide again.
      await delay(clock, random() * 10 * 2 ** attempt)
    }
  }

  #requireInbox(): OutboxInbox<StoreTx> {
    const { inbox } = this.#parts.store
    if (inbox !== undefined) return inbox
    throw new OutboxError(
      'OUTBOX_STORE_CANNOT',
      'inbox.process needs "inbox" of the store, but this store leaves that out. In Redis, for example, a mark cannot ' +
        'share a transaction with the effects: commands wait for the end of the transaction, and none is undone. Use the ' +
        'database that has the effects: PostgreSQL, MySQL, MariaDB or SQLite. inbox.accept works with every store.',
    )
  }
}

interface Unit<Tx> {
  readonly run: (tx: Tx) => Promise<ProcessOutcome>
  /** Whether the last run found the message in the hands of another transaction. */
  readonly wasBusy: () => boolean
}

function markLost(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'The mark of the message is gone: its handler ended or undid the transaction itself, or the database undid it after ' +
      'an error that the handler swallowed. Let errors of statements out of the handler, and leave the transaction to the inbox.',
  )
}

function notInTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'The option "tx" of inbox.process names no open transaction. Pass a handle while its transaction is open, or leave the option out.',
  )
}
