import type { DeadEventFilter } from '../dead/dead-event-manager.ts'
import { describeError } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import { requireDelay } from '../event/delay.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import { EventStatus } from '../store/event-status.ts'
import {
  type Lease,
  type OutboxPeople,
  type OutboxStore,
  type Outcome,
  requireParts,
  type Row,
  type StoredRow,
} from '../store/index.ts'

/**
 * A store under the method names that other outbox systems use for the same steps, for relays that
 * are written by hand. Every method is one call of the store; nothing is retried or logged.
 *
 * Rows come from `claimPending`, and the marks are fenced by their leases: a mark that comes too
 * late throws `OUTBOX_LEASE_LOST` and changes nothing.
 */
export class OutboxBackend<Tx> {
  readonly #store: OutboxStore<Tx>
  readonly #lease: Lease

  constructor(store: OutboxStore<Tx>, lease: Lease) {
    this.#store = store
    this.#lease = lease
  }

  /** Adds an event within the caller's transaction. Answers its id, or that of the event that used its idempotency key. */
  async insertNew(tx: Tx, event: EventEnvelope): Promise<string> {
    const [result] = await this.#store.insert({ tx, rows: [event.toRow(false)] })
    return result?.kind === 'duplicate' ? result.eventId : event.eventId
  }

  /** Leases up to `limit` due events, oldest due time first. */
  claimPending(limit: number, skipRecentMs = 0): Promise<readonly Row[]> {
    return this.#store.claim({ lease: this.#lease, limit, skipRecentMs })
  }

  /** The same as `claimPending`: reading without a lease would hand one event to two relays. */
  findPendingBatch(limit: number): Promise<readonly Row[]> {
    return this.claimPending(limit)
  }

  markDone(row: Row): Promise<void> {
    return this.#settle(row, { kind: 'done' })
  }

  markSent(row: Row): Promise<void> {
    return this.markDone(row)
  }

  markDispatched(row: Row): Promise<void> {
    return this.markDone(row)
  }

  /** A failed attempt, to be repeated after `delayMs`. */
  async markRetry(row: Row, delayMs: number, error: unknown): Promise<void> {
    requireDelay('markRetry', delayMs)
    await this.#settle(row, {
      kind: 'retry',
      delayMs,
      failure: { error: describeError(error), counted: true },
    })
  }

  /** A failed attempt, to be repeated at once. */
  markFailureAttempt(row: Row, error: unknown): Promise<void> {
    return this.markRetry(row, 0, error)
  }

  /** A failed attempt: the last one if `exhausted`, else to be repeated after `delayMs`. */
  recordFailure(row: Row, error: unknown, delayMs: number, exhausted: boolean): Promise<void> {
    if (!exhausted) return this.markRetry(row, delayMs, error)
    return this.#settle(row, { kind: 'dead', failure: { error: describeError(error), counted: true } })
  }

  /** Not yet: due again after `delayMs`, without counting an attempt. */
  async markDeferred(row: Row, delayMs: number): Promise<void> {
    requireDelay('markDeferred', delayMs)
    await this.#settle(row, { kind: 'defer', delayMs })
  }

  markDead(row: Row, error: unknown): Promise<void> {
    return this.#settle(row, { kind: 'dead', failure: { error: describeError(error), counted: false } })
  }

  async queryDead(filter: DeadEventFilter = {}, limit = 100): Promise<readonly StoredRow[]> {
    return this.#people.query({ ...filter, status: [EventStatus.DEAD], limit })
  }

  async replayDead(eventId: string): Promise<boolean> {
    return (await this.#people.replay([{ eventId, destination: '' }])) > 0
  }

  async countDead(filter: DeadEventFilter = {}): Promise<number> {
    return this.#people.count({ ...filter, status: [EventStatus.DEAD] })
  }

  get #people(): OutboxPeople {
    return requireParts(this.#store, ['people'], 'OutboxBackend').people
  }

  async #settle(row: Row, outcome: Outcome): Promise<void> {
    const refused = await this.#store.settle({ settlements: [{ row, outcome }] })
    if (refused.length === 0) return
    throw new OutboxError(
      'OUTBOX_LEASE_LOST',
      `The lease on event ${row.eventId} has been lost, so that its mark was refused. Its new holder decides.`,
    )
  }
}
