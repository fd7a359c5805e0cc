import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../clock.ts'
import { DeadEventManager, type ReplayOptions } from '../dead/dead-event-manager.ts'
import { coldOnly } from '../wake/poller-wake-ups.ts'
import { UnrecoverableError } from '../errors.ts'
import { loggerFrom } from '../observe/logger.ts'
import { noMetrics } from '../observe/metrics.ts'
import { anything, checkOptions, count, duration, invalidOption, text } from '../options.ts'
import { OutboxBackend } from '../outbox/outbox-backend.ts'
import { Announcer } from '../wake/announcer.ts'
import {
  type FailedAttempt,
  type OutboxStore,
  requireParts,
  type Row,
  type StoredRow,
} from '../store/index.ts'
import type { TransactionOptions, Transactions } from '../transactions.ts'
import { AmbientTransactions } from '../write/ambient-transactions.ts'
import { OutboxWriter } from '../write/outbox-writer.ts'
import { ClaimedRows } from './claimed-rows.ts'
import { composeMail } from './compose-mail.ts'
import { type EnqueueOptions, mailAggregate, mailEvent } from './mail-event.ts'
import { type MailMessage, recipientsOf, type StoredMessage } from './mail-message.ts'
import { checkMailOutboxOptions, mailOutboxDefaults, type MailOutboxOptions } from './mail-outbox-options.ts'
import { decodePayload, type MailPayload } from './mail-payload.ts'
import { mailRetryDelaysMs } from './mail-retries.ts'
import type { ComposedMail } from './mail-transport.ts'
import { type StoredMail, storedMail } from './stored-mail.ts'
import { discreetError, withoutAddresses } from './without-addresses.ts'

/** A mail that `claimBatch` returned. */
export interface ClaimedMail {
  readonly id: string
  readonly provider: string
  /** Number of failed attempts so far. */
  readonly attempts: number
  readonly messageId: string
  readonly message: StoredMessage
}

/** Selects mails. */
export interface MailFilter {
  readonly provider?: string
}

/**
 * Stores mails that are sent if and only if their transaction commits.
 *
 * It is an outbox on a table of its own, with messages as events. The store and the engine handle claims,
 * leases, retries and settlements. A `MailOutboxWorker` sends the mails; a hand-written relay claims and
 * marks them here.
 */
export class MailOutbox<Tx, StoreTx = Tx, TxOptions = TransactionOptions> {
  readonly store: OutboxStore<StoreTx>
  readonly #options: MailOutboxOptions<Tx, StoreTx, TxOptions>
  readonly #clock: Clock
  readonly #transactions: AmbientTransactions<Tx, StoreTx, TxOptions>
  readonly #writer: OutboxWriter<Tx, StoreTx, string>
  readonly #dead: DeadEventManager
  readonly #backend: OutboxBackend<StoreTx>
  readonly #claimed = new ClaimedRows()
  readonly #owner = `mail-outbox-${randomBytes(4).toString('hex')}`
  readonly #workers = new Set<(inMs?: number) => void>()

  /** Uses the transactions of the store itself. */
  constructor(options: Omit<MailOutboxOptions<Tx, Tx>, 'transactions'> & { readonly transactions?: never })
  /** Uses the transactions of an ORM. */
  constructor(options: MailOutboxOptions<Tx, StoreTx, TxOptions>)
  constructor(options: MailOutboxOptions<Tx, StoreTx, TxOptions>) {
    checkMailOutboxOptions(options)
    const { store, clock = systemClock } = options
    const logger = loggerFrom(options.logger)
    const announcer = new Announcer({ wakeUps: store.wakeUps, clock, logger })
    const wake = (inMs?: number) => this.#workers.forEach((wakeWorker) => wakeWorker(inMs))
    const announce = () => announcer.announce()
    this.store = store
    this.#options = options
    this.#clock = clock
    this.#transactions = new AmbientTransactions({
      store,
      logger,
      transactions: options.transactions as Transactions<Tx, StoreTx, TxOptions> | undefined,
    })
    this.#writer = new OutboxWriter({
      store,
      txContext: this.#transactions,
      clock,
      logger,
      hotPath: coldOnly({ clock, logger, metrics: noMetrics, waker: { wake, announce } }),
      takeLateSignal: () => announcer.takeLateSignal(),
    })
    this.#dead = new DeadEventManager({ store, logger, onReplayed: wake })
    this.#backend = new OutboxBackend(store, { owner: this.#owner, ms: 0 })
  }

  /** Brings the schema up to date. Many processes may call it at once. */
  initSchema(): Promise<void> {
    return this.store.migrate()
  }

  /** Runs `work` in one transaction. Mails enqueued in it are part of it. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TxOptions): Promise<Result> {
    return this.#transactions.transaction(work, options)
  }

  /**
   * Writes a mail, to be sent once its transaction commits. Returns its id, or that of the mail that used its
   * idempotency key. Throws `OUTBOX_INVALID_MAIL` for a message that must not be sent.
   */
  enqueue(message: MailMessage, options: EnqueueOptions<Tx> = {}): Promise<string> {
    const make = () => mailEvent(message, options, this.#options, this.#clock.now())
    // Without a hook no event is suppressed.
    return this.#writer.writeMade(make, options.tx === undefined ? {} : { tx: options.tx })
  }

  /**
   * Leases up to `limit` due mails for `leaseTimeoutMs`, oldest due time first. It leaves out a mail that
   * cannot be read, and records a failure for it.
   */
  async claimBatch(limit: number, leaseTimeoutMs: number): Promise<readonly ClaimedMail[]> {
    if (count(limit) !== undefined) throw invalidOption('claimBatch', 'limit', limit, count)
    if (duration(leaseTimeoutMs) !== undefined) {
      throw invalidOption('claimBatch', 'leaseTimeoutMs', leaseTimeoutMs, duration)
    }
    const rows = await this.store.claim({ lease: { owner: this.#owner, ms: leaseTimeoutMs }, limit })
    const mails: ClaimedMail[] = []
    for (const row of rows) {
      try {
        const { message, messageId } = this.read(row)
        this.#claimed.add(row)
        mails.push({ id: row.eventId, provider: row.eventType, attempts: row.attempts, messageId, message })
      } catch (error) {
        await this.#backend.recordFailure(
          row,
          error,
          mailRetryDelaysMs[0],
          error instanceof UnrecoverableError,
        )
      }
    }
    return mails
  }

  /**
   * Marks a claimed mail as sent. Throws `OUTBOX_LEASE_LOST`, and changes nothing, if another process holds
   * it by now.
   */
  markDispatched(id: string): Promise<void> {
    return this.#mark(id, (row) => this.#backend.markDispatched(row))
  }

  /**
   * Records that sending a claimed mail failed. The mail is FAILED if `exhausted`, otherwise due again at
   * `nextAttempt`. `attempts` counts this one. Throws `OUTBOX_LEASE_LOST`, and changes nothing, if another
   * process holds it by now.
   */
  recordFailure(
    id: string,
    attempts: number,
    error: unknown,
    nextAttempt: Date,
    exhausted: boolean,
  ): Promise<void> {
    return this.#mark(id, (row) => {
      const expected = row.attempts + 1
      if (attempts !== expected) {
        throw invalidOption('recordFailure', 'attempts', attempts, () => `${expected}, one more than before`)
      }
      const delayMs = Math.max(0, nextAttempt.getTime() - this.#clock.now())
      const told = discreetError(error, withoutAddresses(this.read(row).message))
      return this.#backend.recordFailure(row, told, delayMs, exhausted)
    })
  }

  /** Returns the mail with this id; undefined if it does not exist, or was removed. */
  async find(id: string): Promise<StoredMail | undefined> {
    const row = await this.#rowOf(id)
    return row && storedMail(row, this.#clock.now())
  }

  /** Returns the failed attempts of a mail, oldest first. */
  attempts(id: string): Promise<readonly FailedAttempt[]> {
    return this.#dead.attempts(id)
  }

  /** Returns FAILED mails in write order, starting after `afterSeq`. */
  async failed(
    filter: MailFilter & { readonly limit?: number; readonly afterSeq?: number } = {},
  ): Promise<readonly StoredMail[]> {
    checkOptions('failed', filter, { provider: text, limit: count, afterSeq: anything })
    const { provider, ...page } = filter
    const rows = await this.#dead.query({ ...page, ...(provider !== undefined && { eventType: provider }) })
    return rows.map((row) => storedMail(row, this.#clock.now()))
  }

  /**
   * Replays one FAILED mail for the recipients that have not got it. Returns false if there is none with that
   * id.
   */
  replay(id: string): Promise<boolean> {
    return this.#dead.replay(id)
  }

  /**
   * Replays every FAILED mail that matches, for the recipients that have not got it. Returns how many there
   * were.
   */
  replayAll({ provider }: MailFilter = {}, options: ReplayOptions = {}): Promise<number> {
    return this.#dead.replayAll(provider === undefined ? {} : { eventType: provider }, options)
  }

  /** Returns the mail as it would be sent now to all recipients; undefined if there is none with that id. */
  async preview(id: string): Promise<ComposedMail | undefined> {
    const row = await this.#rowOf(id)
    if (row === undefined) return undefined
    const payload = this.read(row)
    const recipients = recipientsOf(payload.message).map(({ address }) => address)
    return composeMail(id, payload, recipients, this.#options)
  }

  /** Returns the mail in a row, decrypted. */
  read(row: Pick<Row, 'eventId' | 'payload' | 'contentType'>): MailPayload {
    const { keyRing, encryptedOnly = mailOutboxDefaults.encryptedOnly } = this.#options
    return decodePayload(row, keyRing, encryptedOnly)
  }

  /** Returns the mail in a row as it is sent to these recipients. */
  compose(id: string, payload: MailPayload, recipients: readonly string[]): Promise<ComposedMail> {
    return composeMail(id, payload, recipients, this.#options)
  }

  /**
   * Calls `wake` whenever mails may have become due in this process. Returns a function that stops these
   * calls.
   */
  onEnqueued(wake: (inMs?: number) => void): () => void {
    this.#workers.add(wake)
    return () => this.#workers.delete(wake)
  }

  /** Waits for open transactions, and closes the store. Close workers first. */
  async close(): Promise<void> {
    await this.#transactions.ended()
    await this.store.close()
  }

  async #mark(id: string, settle: (row: Row) => Promise<void>): Promise<void> {
    await settle(this.#claimed.get(id))
    this.#claimed.delete(id)
  }

  async #rowOf(id: string): Promise<StoredRow | undefined> {
    const { people } = requireParts(this.store, ['people'], 'MailOutbox')
    const [row] = await people.query({ eventId: id, limit: 1 })
    return row?.aggregateType === mailAggregate ? row : undefined
  }
}
