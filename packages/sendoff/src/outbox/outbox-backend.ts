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
 * A store under the method names that other outbox systems use for the same steps. It is for relays that
 * are written by hand. Each method makes one call of the store; it retries and logs nothing.
 *
 * Rows come from `claimPending`, and their leases fence the marks. A mark that comes too late throws
 * `OUTBOX_LEASE_LOST` and changes nothing.
 */
export class OutboxBackend<Tx> {
  readonly #store: OutboxStore<Tx>
  readonly #lease: Lease

  constructor(store: OutboxStore<Tx>, lease: Lease) {
    this.#store = store
    this.#lease = lease
  }

  /**
   * Adds an event in the caller's transaction. Returns its id, or the id of the event that used its
   * idempotency key.
   */
  async insertNew(tx: Tx, event: EventEnvelope): Promise<string> {
    const [result] = await this.#store.insert({ tx, rows: [event.toRow(false)] })
    return result?.kind === 'duplicate' ? result.eventId : event.eventId
  }

  /** Leases up to `limit` due events, oldest due time first. */
  claimPending(limit: number, skipRecentMs = 0): Promise<readonly Row[]> {
    return this.#store.claim({ lease: this.#lease, limit, skipRecentMs })
  }

  /** The same as `claimPending`. A read without a lease would give one event to two relays. */
  findPendingBatch(limit: number): Promise<readonly Row[]> {
    return this.claimPending(limit)
  }

  /** Settles the row as DONE. */
  markDone(row: Row): Promise<void> {
    return this.#settle(row, { kind: 'done' })
  }

  /** The same as `markDone`. */
  markSent(row: Row): Promise<void> {
    return this.markDone(row)
  }

  /** The same as `markDone`. */
  markDispatched(row: Row): Promise<void> {
    return this.markDone(row)
  }

  /** Records a failed attempt. The event is due again after `delayMs` milliseconds. */
  async markRetry(row: Row, delayMs: number, error: unknown): Promise<void> {
    requireDelay('markRetry', delayMs)
    await this.#settle(row, {
      kind: 'retry',
      delayMs,
      failure: { error: describeError(error), counted: true },
    })
  }

  /** Records a failed attempt. The event is due again at once. */
  markFailureAttempt(row: Row, error: unknown): Promise<void> {
    return this.markRetry(row, 0, error)
  }

  /**
   * Records a failed attempt. The event is DEAD if `exhausted`; otherwise it is due again after `delayMs`
   * milliseconds.
   */
  recordFailure(row: Row, error: unknown, delayMs: number, exhausted: boolean): Promise<void> {
    if (!exhausted) return this.markRetry(row, delayMs, error)
    return this.#settle(row, { kind: 'dead', failure: { error: describeError(error), counted: true } })
  }

  /** Defers the row: it is due again after `delayMs` milliseconds, and no attempt is counted. */
  async markDeferred(row: Row, delayMs: number): Promise<void> {
    requireDelay('markDeferred', delayMs)
    await this.#settle(row, { kind: 'defer', delayMs })
  }

  /** Settles the row as DEAD with this error, and counts no attempt. */
  markDead(row: Row, error: unknown): Promise<void> {
    return this.#settle(row, { kind: 'dead', failure: { error: describeError(error), counted: false } })
  }

  /** Returns up to `limit` DEAD rows that match the filter: 100 by default. */
  async queryDead(filter: DeadEventFilter = {}, limit = 100): Promise<readonly StoredRow[]> {
    return this.#people.query({ ...filter, status: [EventStatus.DEAD], limit })
  }

  /**
   * Makes a DEAD event pending again. Returns false if there is none with this id and an empty destination.
   */
  async replayDead(eventId: string): Promise<boolean> {
    const { actions } = requireParts(this.#store, ['actions'], 'OutboxBackend.replayDead')
    const audit = { actor: this.#lease.owner, action: 'replay', detail: JSON.stringify({ eventId }) }
    const answer = await actions.run({ action: 'replay', rows: [{ eventId, destination: '' }], audit })
    return answer.kind === 'ran' && answer.rows.length > 0
  }

  /** Counts the DEAD rows that match the filter. */
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
      `The lease on event ${row.eventId} is lost, so the store refused its mark. The new holder of the event decides.`,
    )
  }
}
