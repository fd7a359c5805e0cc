import type { EventStatus } from './event-status.ts'
import type { TransactionOptions } from '../transactions.ts'

/**
 * Where events live between the write and the delivery.
 *
 * A store holds no policy: it never retries, orders or logs on its own. It makes the
 * state changes below, each of them atomic, and judges every lease and due time by its
 * own clock. Every rule stated here has a check of the same wording in `sendoff/testing`.
 *
 * A row that somebody changed by hand never fails a call that reads others as well. It comes along as far as it can be
 * read: `payload` is null where there is none, and a time that is no time is NaN or infinite. The engine sets it aside.
 */
export interface OutboxStore<Tx> {
  readonly capabilities: StoreCapabilities

  /** Brings the schema to the current version, and makes what was dropped of it. Many processes may call it at once. */
  migrate(): Promise<void>

  /**
   * Changes nothing, and rejects with `OUTBOX_SCHEMA_NOT_READY` where `migrate` would have something to do. Needs no right to
   * create anything.
   */
  checkSchema(): Promise<void>

  /**
   * Runs `work` in one transaction: all of its writes are kept, or none. Resolves only when
   * the database has confirmed the commit. With `within`, the new transaction is part of that
   * one and can be undone alone, but is kept only if the outer one is.
   */
  transaction<Result>(
    work: (tx: Tx) => Promise<Result>,
    within?: Tx,
    options?: TransactionOptions,
  ): Promise<Result>

  /**
   * Whether an error is the database's own word that it has undone a transaction instead of committing it. False for a lost
   * connection, and for every other error that leaves the end of a transaction open. Left out where no error says so.
   */
  refusedCommit?(error: unknown): boolean

  /** Whether `tx` is a handle with an open transaction, so that an insert would be part of it. */
  inTransaction(tx: Tx): boolean | Promise<boolean>

  /**
   * Adds rows within the caller's transaction, in the given order. Nobody sees them before it
   * commits. Rows with `claimed` are born with `lease`. A row whose idempotency key was used
   * before is not added, and the answer names the event that used it. Where an event id exists, nothing is added, and the transaction
   * goes on after the error; where rows are `queued`, the commit is refused as a whole. With `announce`, a store
   * that can signals to other processes when the transaction commits, also when rows fall due later.
   */
  insert(tx: Tx, rows: readonly NewRow[], lease: Lease, announce?: boolean): Promise<readonly InsertResult[]>

  /**
   * Takes up to `limit` due rows that nobody holds and no control pauses, oldest due time first,
   * and leases them.
   * Raises `deliveries` of each, and `losses` of those whose last holder never let go.
   */
  claim(request: ClaimRequest): Promise<readonly Row[]>

  /**
   * Claims as `claim` does, but only rows of the named types; others stay as they are. Looks at no more than `window` due
   * rows, so that no call takes long however many rows of other types are due, and returns where to go on.
   */
  claimTypes(request: ClaimTypesRequest): Promise<ClaimTypesAnswer>

  /**
   * Reads due rows that no control pauses without leasing them, in due order: for the
   * holder of a lock, who needs no claims. Rows whose lease has run out come along with their `lockedBy`, to be
   * claimed. Records in the lock row, in the same step, the bounds of what the owner then holds.
   * Answers undefined, and reads nothing, when the lock is no longer the owner's.
   */
  pollPending(request: PollRequest): Promise<readonly Row[] | undefined>

  /** Leases held rows anew. Returns, as the very objects handed in, those that were lost meanwhile. */
  renew(rows: readonly HeldRow[], lease: Lease): Promise<readonly HeldRow[]>

  /**
   * Hands leased rows back: they are free at once, with their crash counter as it was, since a row
   * that was let go of unrun has proved nothing. Rows lost meanwhile are left alone.
   */
  release(rows: readonly HeldRow[]): Promise<void>

  /**
   * Records outcomes and returns, as the very objects handed in, the settlements that were refused
   * because the row is no longer held by whoever settles it. Those rows are left untouched: their new holder decides. Rows
   * read without a claim (`lockedBy` null) are settled only while `owner` still has its lock, and those with an `epoch`
   * only while their partition is its, too, at that epoch.
   */
  settle(batch: readonly Settlement[], owner?: OwnerFence): Promise<readonly Settlement[]>

  readonly locks: OutboxLocks

  /** Left out where the store cannot share ordering keys among processes. */
  readonly partitions?: OutboxPartitions

  /** Left out with `partitions`. */
  readonly orderingKeys?: OutboxOrderingKeys<Tx>

  /** Rows that match, in write order. */
  query(filter: RowFilter): Promise<readonly StoredRow[]>

  count(filter: CountFilter): Promise<number>

  /** Failed attempts at one row, oldest first. They stay when the row is replayed. */
  attempts(key: RowId): Promise<readonly FailedAttempt[]>

  /**
   * Makes DEAD rows NEW and due at once: attempts and losses at 0, without error, lease or end.
   * Other rows are left alone. Returns how many there were.
   */
  replay(keys: readonly RowId[]): Promise<number>

  /**
   * Deletes one batch of old rows with their history, and of old idempotency keys. Looks at no more
   * than `limit` of each and locks nothing for long. Answers where the next batch begins, until
   * nothing is left.
   */
  purge(request: PurgeRequest): Promise<PurgeResult>

  readonly controls: OutboxControls

  readonly nodes: OutboxNodes

  /** Left out where one process cannot wake another: pollers then find rows by looking. */
  readonly wakeUps?: OutboxWakeUps

  /** Asks the database for a sign of life, before anything else is asked of it. Left out where calls go over no connection. */
  ping?(): Promise<void>

  /** What of the database's settings could lose events, in words for people. Left out where nothing can. */
  doctor?(): Promise<readonly string[]>

  /**
   * Told that a call was not answered within `silentMs`. Ends the connections over which the store has waited for an answer for about as
   * long, and those that are idle and were not heard from since: the next call must not wait for another dead one. What
   * waits on them fails. Statements of transactions that the store has handed out are their caller's, apart from their beginning
   * and their end. Left out where calls go over no connection. Never throws.
   */
  dropSilent?(silentMs: number): void

  /**
   * Does what is needed now and then, such as making parts of a table ahead of time: every process calls it at its start and once
   * an hour. Returns what a person has to do, in words. Left out where nothing is needed.
   */
  upkeep?(): Promise<readonly string[]>

  /** Lets go of what the store itself opened. Clients that were handed in stay open. */
  close(): Promise<void>
}

/** What a store can give. A check that needs more is skipped, and says so. */
export interface StoreCapabilities {
  /** Rows survive the end of the process. */
  readonly durable: boolean
  /** Several processes can share the table. */
  readonly multiProcess: boolean
}

/** Names one row: an event, and where it goes (`''` unless the event fans out). */
export interface RowId {
  readonly eventId: string
  readonly destination: string
}

/** What an event says of itself, as it is stored and handed back. */
export interface EventRow extends RowId {
  readonly eventType: string
  readonly aggregateType: string
  readonly aggregateId: string | null
  readonly tenantId: string | null
  readonly orderingKey: string | null
  /** 0 to 255, from the ordering key; null without one. */
  readonly partitionNo: number | null
  /** JSON as text, or bytes. Stored and handed back exactly. */
  readonly payload: string | Uint8Array
  /** Null for JSON. */
  readonly contentType: string | null
  /** A JSON object as text; null without headers. */
  readonly headers: string | null
  /** Epoch milliseconds, like every time in this contract. */
  readonly occurredAt: number
}

export interface NewRow extends EventRow {
  /** Due at a given time, or so many milliseconds from now by the database's clock: at most `maxDelayMs` ahead. */
  readonly due: { readonly at: number } | { readonly inMs: number }
  readonly idempotencyKey: string | null
  readonly claimed: boolean
  /** Whether the id was made for this very row, so that no other can have it: nobody has to look for one. */
  readonly hasNewId?: boolean
}

/** A row as read for delivery. */
export interface Row extends EventRow {
  /** Rises in write order. */
  readonly seq: number
  /** Failures that count. */
  readonly attempts: number
  /** The fence: rises with every claim, born-claimed insert and settlement, and never falls. */
  readonly deliveries: number
  /** How many holders in a row vanished with this row in hand. */
  readonly losses: number
  readonly availableAt: number
  readonly createdAt: number
  readonly lockedBy: string | null
}

/** A row as read for its place in an order, which it has whether or not it may be delivered now. */
export interface OrderedRow extends Row {
  /**
   * 0 where it may be delivered now. Otherwise what is left until it is due, or until the lease that somebody has on it
   * ends; Infinity where that is for people to say: it is blocked, paused, or its key is parked.
   */
  readonly waitMs: number
}

/** A row as shown to people. */
export interface StoredRow extends Row {
  readonly status: EventStatus
  readonly doneAt: number | null
  readonly lastError: string | null
  readonly lockedUntil: number | null
  readonly blockedAt: number | null
}

/** What became of a row; where the database tells only when the transaction has ended, `queued`. */
export type InsertResult = InsertedRow | DuplicateRow | QueuedRow

export interface DuplicateRow {
  readonly kind: 'duplicate'
  readonly eventId: string
}

export interface QueuedRow {
  readonly kind: 'queued'
  /** What became of it, once its transaction has committed; undefined before, and where nobody saw the commit. */
  result(): InsertedRow | DuplicateRow | undefined
}

export interface InsertedRow {
  readonly kind: 'inserted'
  readonly seq: number
  readonly deliveries: number
  /**
   * Whether the row is kept whenever its transaction is. False within a savepoint, which may be
   * undone alone and unseen.
   */
  readonly certain: boolean
}

export interface Lease {
  /** Unique per process start. */
  readonly owner: string
  readonly ms: number
}

export interface ClaimRequest {
  readonly lease: Lease
  readonly limit: number
  /** Only these rows; those already leased by `lease.owner` included, and no loss counted for them. */
  readonly rows?: readonly RowId[]
  /** Only rows at or behind this place in due order. */
  readonly from?: DuePlace
  /** Leaves rows alone that were written less than so many milliseconds ago. */
  readonly skipRecentMs?: number
}

/** Names a kind of event: what a listener is registered for. */
export interface TypeName {
  readonly aggregateType: string
  readonly eventType: string
}

export interface ClaimTypesRequest extends Omit<ClaimRequest, 'keys'> {
  /** Only rows of these types. */
  readonly types: readonly TypeName[]
  /** How many due rows to look at. */
  readonly window: number
}

export interface ClaimTypesAnswer {
  readonly rows: readonly Row[]
  /** The place behind the last row that was looked at; undefined when everything due has been looked at. */
  readonly next: DuePlace | undefined
}

export interface PollRequest {
  readonly owner: OwnerFence
  readonly limit: number
  /** What the owner holds already; recorded together with the rows of the answer. */
  readonly held: Bounds | null
  /** Only rows at or behind this place. */
  readonly from?: DuePlace
  readonly skipRecentMs?: number
  /** Extends the lock by so much from now, in the same step. */
  readonly renewMs?: number
}

/** A place in the order in which rows fall due. */
export interface DuePlace {
  readonly availableAt: number
  readonly seq: number
}

/** From one place in due order to another, both included. */
export interface Bounds {
  readonly low: DuePlace
  readonly high: DuePlace
}

/** A row in somebody's hands. `lockedBy` is null where a lock owner read it without a claim. */
export interface HeldRow extends RowId {
  readonly seq: number
  readonly deliveries: number
  readonly lockedBy: string | null
  /** That of the row's partition when its owner read the row. */
  readonly epoch?: number | undefined
  /** As the row says. Rows of many partitions and epochs that name theirs may be settled at less cost. */
  readonly partitionNo?: number | null | undefined
}

export interface Settlement {
  readonly row: HeldRow
  readonly outcome: Outcome
}

/**
 * What became of a delivery. A `failure` is added to the history of failed attempts.
 *
 * - `done`: DONE. `delete`: the row is removed.
 * - `retry`: RETRY, due again after `delayMs`, which is at most `maxDelayMs`.
 * - `defer`: NEW, due again after `delayMs`; `attempts` stays.
 * - `block`: stays pending but is not due until a person decides.
 * - `dead`: DEAD.
 */
export type Outcome =
  | { readonly kind: 'done' | 'delete'; readonly failure?: Failure }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly failure: Failure }
  | { readonly kind: 'defer'; readonly delayMs: number; readonly reason?: string; readonly quiet?: boolean }
  | { readonly kind: 'block' | 'dead'; readonly failure: Failure }

export interface Failure {
  /** Starts with the error's class. Stores cut it at 4000 characters. */
  readonly error: string
  /** Whether it raises `attempts`. */
  readonly counted: boolean
}

export interface FailedAttempt {
  readonly attempts: number
  readonly failedAt: number
  readonly error: string
  readonly lockedBy: string | null
}

/** Proof of ownership that a settlement or an unclaimed read is checked against. */
export interface OwnerFence {
  readonly lock: string
  readonly token: string
}

/** Named locks with a time limit, each a row that also remembers what its owner holds. */
export interface OutboxLocks {
  /**
   * Takes the lock if it is free, has run out or is `token`'s already; false otherwise. Where the
   * last owner vanished, the same step counts a loss for every pending row within the bounds it left
   * behind that nobody has leased since, raises its `deliveries`, and forgets the bounds. The same goes for the rows
   * that it said it holds, as far as they are as they were then.
   */
  acquire(request: LockRequest): Promise<boolean>
  /** Extends the lock while it is `token`'s and has not run out; false when it was lost. */
  renew(request: LockRequest): Promise<boolean>
  /** Gives the lock up if it is `token`'s, and forgets its bounds. */
  release(fence: OwnerFence): Promise<void>
}

export interface LockRequest extends OwnerFence {
  readonly ttlMs: number
}

/**
 * Who delivers which ordering keys. The keys are divided into partitions, and each partition belongs to one process at a
 * time. A process takes part by holding a lock of its own, called `participantLock(token)`: its time limit is that of all
 * partitions that the process owns. Rows without a key belong to the partition `partitionOfRow` says.
 */
export interface OutboxPartitions {
  /**
   * Who takes part, and who owns what. Before that, ends the part of everybody whose lock has run out: counts
   * a loss for every row that they said they hold, raises its `deliveries`, unless it was leased or settled or its partition given
   * up since, and frees their partitions. Undefined when the lock is no longer the owner's.
   */
  shares(owner: OwnerFence): Promise<PartitionShares | undefined>
  /**
   * Takes partitions that nobody owns, and raises the epoch of each. Answers those that it got; nothing when the lock is no
   * longer the owner's.
   */
  acquire(owner: OwnerFence, partitions: readonly number[]): Promise<readonly OwnedPartition[]>
  /**
   * Gives partitions up that are the owner's at the epochs that it names, so that a request that comes late takes nothing from it that
   * it got again since. Those of somebody who gives the lock up are free as well.
   */
  release(owner: OwnerFence, partitions: readonly OwnedPartition[]): Promise<void>
  /**
   * Finds keys with due rows, and reads their rows and those of the keys that are named, in write order from each key's first one that
   * is pending. Rows that have to wait come along, unless they were written for later and nobody has had them yet. Undefined, and
   * reads nothing, when the lock is no longer the owner's.
   */
  read(request: LaneRequest): Promise<LaneAnswer | undefined>
  /** The same for all pending rows as one lane, whatever their keys: up to `limit` of them. Any lock will do. */
  readAll(request: OneLaneRequest): Promise<readonly OrderedRow[] | undefined>
  /**
   * Remembers, in the lock row, which rows the owner holds, for whoever ends its part or takes its lock over. False when the
   * lock is no longer its. A crash of the database may forget what it was told last.
   */
  hold(owner: OwnerFence, rows: readonly FencedRow[]): Promise<boolean>
}

/** A row that an owner read without a claim, and how often it had been delivered then. */
export type FencedRow = Pick<HeldRow, 'seq' | 'deliveries'>

export interface PartitionShares {
  /** The tokens of those who take part, the asker's included. */
  readonly participants: readonly string[]
  /** One for each partition, in order. */
  readonly partitions: readonly PartitionShare[]
  /** When the first lock of another participant runs out unless it is renewed. */
  readonly nextEndMs: number
}

export interface PartitionShare {
  readonly partition: number
  /** A token; null for nobody. */
  readonly owner: string | null
  readonly epoch: number
}

export interface OwnedPartition {
  readonly partition: number
  /** Rises with every change of owner. */
  readonly epoch: number
}

export interface LaneRequest {
  readonly owner: OwnerFence
  /** Only keys, and rows without a key, of these partitions are found. */
  readonly partitions: readonly number[]
  /** Keys to read in any case. */
  readonly keys: readonly string[]
  /** Keys that are not to be found, and the ids of events without a key. */
  readonly except: readonly string[]
  /** Only what is due at or behind this place is found. */
  readonly from?: DuePlace
  /** How many due rows to look at for finding keys. */
  readonly window: number
  /** How many rows to find at most. Of a key that is found, all rows that follow count as found. */
  readonly limit: number
  /** How many rows to read of each key. */
  readonly perKey: number
  /** Passes over rows that have to wait, instead of reading them as well. */
  readonly skipWaiting?: boolean
  /** Extends the lock by so much from now, in the same step. */
  readonly renewMs?: number
}

export interface OneLaneRequest {
  readonly owner: OwnerFence
  readonly limit: number
  /** Only rows written after the one of this number. */
  readonly afterSeq?: number
  /** Extends the lock by so much from now, in the same step. */
  readonly renewMs?: number
}

export interface LaneAnswer {
  /** Those of one key stand together and in write order. */
  readonly rows: readonly OrderedRow[]
  /** Where to go on finding keys; undefined when everything due has been looked at. */
  readonly next: DuePlace | undefined
}

/** Ordering keys, for writers who keep their order and for people who watch over them. */
export interface OutboxOrderingKeys<Tx> {
  /**
   * Lets no other transaction lock one of these keys until this one ends, so that the order of writing is the order of
   * commits. Takes all locks in one order before it answers. `partitions` locks whole partitions, where there are too many keys to
   * lock each; `all` stands for every key there is.
   */
  lock(tx: Tx, keys: KeyLocks): Promise<void>
  /** Keys that do not go on by themselves, by name: their first pending row is blocked or has failed, or they are parked. */
  blocked(filter: BlockedKeyFilter): Promise<readonly BlockedKey[]>
  /** Makes the first pending row of a key due now, and lifts its block. False where it does not wait, or somebody has it. */
  retry(key: string): Promise<boolean>
  /** Makes the first pending row of a key DEAD, with `reason`. Whoever has it in hand cannot settle it any more. False where there is none. */
  skip(key: string, reason: string): Promise<boolean>
  /** Nothing of this key is delivered until it is unparked. */
  park(key: string): Promise<void>
  unpark(key: string): Promise<void>
}

export type KeyLocks = readonly string[] | { readonly partitions: readonly number[] } | 'all'

export interface BlockedKeyFilter {
  readonly limit: number
  /** Only keys behind this one. */
  readonly after?: string
}

export interface BlockedKey {
  readonly orderingKey: string
  readonly isParked: boolean
  /** Its first pending row; undefined for a parked key without one. */
  readonly head: StoredRow | undefined
  /** How many rows are pending behind it: 1,000 stands for that many and more. */
  readonly waiting: number
}

/** How far the rows behind a blocked one are counted. */
export const maxCountedWaiting = 1_000

/** The lock by which a process takes part in sharing partitions. */
export function participantLock(token: string): string {
  return `${participantPrefix}${token}`
}

export const participantPrefix = 'partitions/'

export interface PurgeRequest {
  /** DONE rows that were settled longer ago; all are kept where left out. */
  readonly doneOlderThanMs?: number
  /** DEAD rows that were settled longer ago; all are kept where left out. */
  readonly deadOlderThanMs?: number
  /** Rows of any state that were written longer ago: for tables that nobody consumes. */
  readonly anyOlderThanMs?: number
  /** Idempotency keys that were used longer ago; all are kept where left out. */
  readonly idempotencyKeysOlderThanMs?: number
  readonly limit: number
  /** Where the last batch ended, as its answer said. */
  readonly cursor?: PurgeCursor
}

export interface PurgeResult {
  readonly deletedRows: number
  readonly deletedIdempotencyKeys: number
  /** Where to go on; undefined when everything has been looked at. */
  readonly cursor: PurgeCursor | undefined
}

/** Only the store that made it knows what it says. */
export type PurgeCursor = string

/** Switches that people set while the system runs, in force for every claim and read at once. */
export interface OutboxControls {
  /** Rows of this event type, or for this destination, stay where they are until it is lifted. */
  pause(target: PauseTarget): Promise<void>
  resume(target: PauseTarget): Promise<void>
  paused(): Promise<readonly PauseTarget[]>
}

export type PauseTarget = { readonly eventType: string } | { readonly destination: string }

/** The processes that use the table. */
export interface OutboxNodes {
  /**
   * Registers a process for `ttlMs`, or keeps it registered. The table has one mode at a time: that
   * of its living processes. One that asks for another is not registered, and is told which mode
   * the living have. A process without a mode goes with all. The answer says what is paused, and which mode was the last
   * that anybody joined with.
   */
  join(node: NodeRequest): Promise<NodeAnswer>
  leave(id: string): Promise<void>
}

export interface NodeRequest {
  readonly id: string
  readonly mode: string | null
  readonly ttlMs: number
}

export type NodeAnswer =
  | { readonly kind: 'joined'; readonly paused: readonly PauseTarget[]; readonly mode: string | null }
  | { readonly kind: 'conflict'; readonly mode: string; readonly nodes: readonly string[] }

/** Signals between processes that there is something to deliver. They may get lost, and may come without need. */
export interface OutboxWakeUps {
  /** Calls back at each signal, and with an empty one whenever signals may have been missed, until it is told to stop. */
  listen(callback: (wakeUp: WakeUp) => void): Promise<() => Promise<void>>
  /** Signals at once, outside any transaction. */
  announce(wakeUp?: WakeUp): Promise<void>
}

/** What a signal tells. An empty one stands for something to deliver anywhere, now. */
export interface WakeUp {
  /** The partitions of the rows; any where left out. */
  readonly partitions?: readonly number[]
  /** The milliseconds after which rows fall due; at once where left out. */
  readonly inMs?: readonly number[]
  /** Whether what is paused has changed. */
  readonly controls?: boolean
}

export interface RowFilter {
  readonly status?: readonly EventStatus[]
  readonly eventType?: string
  readonly aggregateType?: string
  readonly aggregateId?: string
  readonly tenantId?: string
  readonly eventId?: string
  /** Those of any of these events; not together with `eventId`. */
  readonly eventIds?: readonly string[]
  readonly afterSeq?: number
  readonly limit: number
}

export type CountFilter = Omit<RowFilter, 'limit' | 'afterSeq' | 'eventIds'>

/** Error texts longer than this are cut by every store. */
export const maxErrorLength = 4000
