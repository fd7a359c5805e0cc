import type { OutboxLanes } from './lanes.ts'
import type { OutboxLeases } from './leases.ts'
import type { OutboxOwners } from './owners.ts'
import type { OutboxPartitions } from './partitions.ts'
import type { OutboxControls, OutboxOrderingKeys, OutboxPeople } from './people.ts'
import type { OutboxWakeUps, PurgeRequest, PurgeResult, OutboxUpkeep } from './upkeep.ts'
import type { OutboxWriting } from './writing.ts'

/**
 * Where events live between the write and the delivery.
 *
 * A store holds no policy: it never retries, orders or logs on its own. It makes the
 * state changes of this contract, each of them atomic, and judges every lease and due time by its
 * own clock. Every rule stated here has a check of the same wording in `sendoff/testing`.
 *
 * Claims, fences, leases, locks and nodes are what an outbox is made of: every store has them. A `StorePart` may be left
 * out. An outbox that needs it then fails with `OUTBOX_STORE_CANNOT`, and names it.
 *
 * A row that was changed by hand never fails a call that reads others as well. It comes along as far as it can be
 * read: `payload` is null where there is none, and a time that is no time is NaN or infinite. The engine sets it aside.
 */
export interface OutboxStore<Tx> extends OutboxWriting<Tx>, OutboxLeases, OutboxOwners, OutboxUpkeep {
  readonly capabilities: StoreCapabilities

  /** Left out where the store does not know rows in write order. `Outbox.ordered` and `Outbox.partitioned` need it. */
  readonly lanes?: OutboxLanes<Tx>

  /** Left out where the store cannot share ordering keys among processes. `Outbox.partitioned` needs it. */
  readonly partitions?: OutboxPartitions

  /** Left out where people do not read rows through the store. `outbox.deadEvents` needs it. */
  readonly people?: OutboxPeople

  /** Left out where people do not decide about ordering keys. `outbox.blockedKeys` needs it. */
  readonly orderingKeys?: OutboxOrderingKeys

  /** Left out where nothing can be paused. */
  readonly controls?: OutboxControls

  /** Left out where one process cannot wake another: pollers then find rows at their intervals. */
  readonly wakeUps?: OutboxWakeUps

  /**
   * Deletes one batch of old rows with their history, and of old idempotency keys. Looks at no more
   * than `limit` of each and locks nothing for long. Returns where the next batch begins, until
   * nothing is left. Left out where the database itself removes what is old.
   */
  purge?(request: PurgeRequest): Promise<PurgeResult>
}

/** What a store may leave out. */
export type StorePart = 'lanes' | 'partitions' | 'people' | 'orderingKeys' | 'controls' | 'wakeUps' | 'purge'

/** A store that has these parts. */
export type StoreWith<Tx, Part extends StorePart> = OutboxStore<Tx> & Required<Pick<OutboxStore<Tx>, Part>>

/** A store that leaves nothing out, except perhaps wake-ups. */
export type CompleteStore<Tx> = StoreWith<Tx, Exclude<StorePart, 'wakeUps'>>

/** What a store can give. A check that needs more is skipped, and says so. */
export interface StoreCapabilities {
  /** Rows survive the end of the process. */
  readonly durable: boolean
  /** Several processes can share the table. */
  readonly multiProcess: boolean
}
