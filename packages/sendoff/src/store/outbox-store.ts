import type { OutboxActions } from './actions.ts'
import type { OutboxInbox } from './inbox.ts'
import type { OutboxLanes } from './lanes.ts'
import type { OutboxLeases } from './leases.ts'
import type { OutboxLooks } from './looks.ts'
import type { OutboxOwners } from './owners.ts'
import type { OutboxPartitions } from './partitions.ts'
import type { OutboxControls, OutboxOrderingKeys, OutboxPeople } from './people.ts'
import type { OutboxReports } from './reports.ts'
import type { OutboxRouting } from './routing.ts'
import type { OutboxWakeUps, PurgeRequest, PurgeResult, OutboxUpkeep } from './upkeep.ts'
import type { OutboxWriting } from './writing.ts'

/**
 * Where events live between the write and the delivery.
 *
 * A store holds no policy: it never retries, orders or logs on its own. It makes the state changes of this
 * contract, each of them atomic. It judges every lease and due time by its own clock. Every rule stated here
 * has a check of the same wording in `sendoff/testing`.
 *
 * Every store has claims, fences, leases, locks and nodes: an outbox cannot work without them. A store may
 * leave out a `StorePart`. An outbox that needs this part then fails with `OUTBOX_STORE_CANNOT`, and names
 * it.
 *
 * A row that was changed by hand never fails a call that also reads other rows. The store returns it as far
 * as it can be read. A missing `payload` is null, and an invalid time is NaN or infinite. The engine sets
 * such a row aside.
 */
export interface OutboxStore<Tx> extends OutboxWriting<Tx>, OutboxLeases, OutboxOwners, OutboxUpkeep {
  readonly capabilities: StoreCapabilities

  /** Rows in write order. `Outbox.ordered` and `Outbox.partitioned` need this part. */
  readonly lanes?: OutboxLanes<Tx>

  /** Ordering keys shared among processes. `Outbox.partitioned` needs this part. */
  readonly partitions?: OutboxPartitions

  /** Rows for operators. `outbox.deadEvents` needs this part. */
  readonly people?: OutboxPeople

  /** The table as operators see it. `sendoff/admin` needs this part. */
  readonly looks?: OutboxLooks

  /** What operators do to rows, with an audit. Replays and cancellations need this part. */
  readonly actions?: OutboxActions<Tx>

  /** Operators' decisions about ordering keys. `outbox.blockedKeys` needs this part. */
  readonly orderingKeys?: OutboxOrderingKeys

  /** Pauses. A store without this part cannot pause anything. */
  readonly controls?: OutboxControls

  /** Which events go to which destinations. The option `routing` needs this part. */
  readonly routing?: OutboxRouting

  /** Reports of processes, and statistics. Without this part, an outbox delivers but does not report. */
  readonly reports?: OutboxReports

  /** Marks of processed messages. `inbox.process` of `sendoff/inbox` needs this part. */
  readonly inbox?: OutboxInbox<Tx>

  /** Signals between processes. Without this part, pollers find rows at their intervals. */
  readonly wakeUps?: OutboxWakeUps

  /**
   * Deletes one batch of old rows with their history, and of old idempotency keys. Examines at most `limit`
   * of each and locks nothing for long. Returns where the next batch begins, until nothing is left. Left out
   * if the database itself removes what is old.
   */
  purge?(request: PurgeRequest): Promise<PurgeResult>
}

/** The parts that a store may leave out. */
export type StorePart =
  | 'lanes'
  | 'partitions'
  | 'people'
  | 'looks'
  | 'actions'
  | 'orderingKeys'
  | 'controls'
  | 'routing'
  | 'reports'
  | 'inbox'
  | 'wakeUps'
  | 'purge'

/** A store that has these parts. */
export type StoreWith<Tx, Part extends StorePart> = OutboxStore<Tx> & Required<Pick<OutboxStore<Tx>, Part>>

/** A store with all parts, except perhaps wake-ups. */
export type CompleteStore<Tx> = StoreWith<Tx, Exclude<StorePart, 'wakeUps'>>

/** The abilities of a store. A check that needs more is skipped, and says so. */
export interface StoreCapabilities {
  /** Rows survive the end of the process. */
  readonly durable: boolean
  /** Several processes can share the table. */
  readonly multiProcess: boolean
}
