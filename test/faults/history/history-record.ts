import type { OwnedPartition } from '../../../packages/sendoff/src/store/index.ts'

/**
 * One record of a process about itself, or of the driver about others. Times are ms of the machine's
 * monotonic clock.
 */
export type HistoryRecord = Stamp &
  (
    | Intent
    | TransactionEnd
    | DeliveryStart
    | DeliveryEnd
    | DeliveryAborted
    | SettlementsSeen
    | SettlementsFailed
    | SettlementsUnanswered
    | RowsFound
    | PartitionsGained
    | PartitionsNotGained
    | PartitionsGivenUp
    | LockTaken
    | LockGivenUp
    | CutOff
    | DatabaseBack
    | ProcessReady
    | RefusalsTold
    | FaultDone
    | Outage
    | ProcessExit
    | ProcessStuck
  )

interface Stamp {
  readonly at: number
  /** Unique per process start; `driver` for the process that does the harm. */
  readonly process: string
}

/** Recorded right before COMMIT, or before a planned rollback. */
export interface Intent {
  readonly kind: 'intent'
  readonly tx: string
  /** Rolled back on purpose, or because of a refused write. */
  readonly rollsBack: boolean
  readonly events: readonly WrittenEvent[]
  /** Events of an inner part that was rolled back alone. */
  readonly undone: readonly string[]
  readonly repeated: readonly RepeatedWrite[]
}

/** A write with a used idempotency key, which has to return the first write's event. */
export interface RepeatedWrite {
  readonly expected: string
  readonly answered: string
}

export interface WrittenEvent {
  readonly id: string
  readonly behaviour: Behaviour
  /** A delayed event must not start before this moment. */
  readonly notBefore?: number
  /** Its ordering key, if it has one. */
  readonly key?: string
  /** When its write returned. */
  readonly wroteAt?: number
}

/**
 * Recorded after the transaction ended. `unknown` stands for an unplanned error, such as a lost connection.
 * Then only the business data shows whether the transaction committed.
 */
export interface TransactionEnd {
  readonly kind: 'commit' | 'rollback' | 'unknown'
  readonly tx: string
  readonly error?: string
}

export interface DeliveryStart {
  readonly kind: 'start'
  /** Unique within its process. */
  readonly delivery: number
  readonly event: string
  readonly token: number
  readonly attempt: number
  readonly epoch?: number
  /** What the listener is going to do. */
  readonly act: Act
}

export interface DeliveryEnd {
  readonly kind: 'end'
  readonly delivery: number
  readonly event: string
  readonly act: Act
}

/** The signal of a delivery has told its listener to stop. */
export interface DeliveryAborted {
  readonly kind: 'aborted'
  readonly delivery: number
  readonly event: string
}

/** One reply of the store to a batch of settlements. */
export interface SettlementsSeen {
  readonly kind: 'settled'
  /** When the store was asked. */
  readonly since: number
  readonly settlements: readonly SeenSettlement[]
}

export interface SeenSettlement {
  readonly event: string
  readonly token: number
  readonly outcome: string
  readonly refused: boolean
  /** The row was read without a lease. */
  readonly underLock?: true
  /** The epoch of its partition, if the row was read as its owner. */
  readonly epoch?: number
}

/** The store failed to reply to a batch of settlements. Whether it accepted them is not known. */
export interface SettlementsFailed {
  readonly kind: 'unsettled'
  /** When the store was asked. */
  readonly since: number
  readonly events: readonly string[]
}

/** The store has not replied to a batch of settlements for so long that the engine may give up. */
export interface SettlementsUnanswered {
  readonly kind: 'unanswered'
  /** When the store was asked. */
  readonly since: number
  readonly events: readonly string[]
}

/** The store shows rows of which the process does not know whether its settlements were written. */
export interface RowsFound {
  readonly kind: 'found'
  /** When the store was asked. */
  readonly since: number
  readonly rows: readonly FoundRow[]
}

export interface FoundRow {
  readonly event: string
  readonly token: number
  readonly status: number
  /** Whether no process holds it, or was lost with it. */
  readonly isFree: boolean
}

/** The store says that this process owns these partitions from now on. */
export interface PartitionsGained {
  readonly kind: 'gained'
  /** When the store was asked. */
  readonly since: number
  /** The token under which they were taken. */
  readonly token: string
  readonly partitions: readonly OwnedPartition[]
}

/** The store failed to reply. Whether this process owns these partitions is not known. */
export interface PartitionsNotGained {
  readonly kind: 'notGained'
  /** When the process asked. */
  readonly since: number
  readonly partitions: readonly number[]
}

/** Recorded right before the store is asked to free them. */
export interface PartitionsGivenUp {
  readonly kind: 'givenUp'
  readonly token: string
  /** All of its partitions if left out. */
  readonly partitions?: readonly number[]
}

/** The store says that this process holds the lock of a destination from now on. */
export interface LockTaken {
  readonly kind: 'lockTaken'
  /** When the store was asked. */
  readonly since: number
  readonly destination: string
  readonly token: string
}

/** Recorded right before the store is asked to free the lock. */
export interface LockGivenUp {
  readonly kind: 'lockGivenUp'
  readonly destination: string
  readonly token: string
}

/**
 * From `since` until now this process could not keep a lease: its database did not reply, or it did not run.
 */
export interface CutOff {
  readonly kind: 'cutOff'
  readonly since: number
  readonly what: string
}

/** The first reply of the database after a failed call. */
export interface DatabaseBack {
  readonly kind: 'back'
}

/** Recorded when a process has started. */
export interface ProcessReady {
  readonly kind: 'ready'
  readonly delivers: boolean
}

/** How many refused settlements the metrics of a process count when it has closed. */
export interface RefusalsTold {
  readonly kind: 'refusalsTold'
  readonly count: number
}

export interface FaultDone {
  readonly kind: 'fault'
  readonly fault: 'kill' | 'stop' | 'cont' | 'restart'
  readonly target: string
}

/** Recorded at its end: from `since` until now the way to the database was harmed. */
export interface Outage {
  readonly kind: 'outage'
  /** The kind of harm. */
  readonly what: string
  readonly since: number
  /** The slot that it was meant for; all slots if left out. */
  readonly slot?: string
}

export interface ProcessExit {
  readonly kind: 'exit'
  readonly target: string
  readonly code: number | null
  readonly signal: string | null
  /** Whether the driver, or a poison event, caused it. */
  readonly expected: boolean
  /** The last output of a process that ended on its own. */
  readonly output?: string
}

/** A process was asked to end, did not, and was killed. */
export interface ProcessStuck {
  readonly kind: 'stuck'
  readonly target: string
}

/** What an event makes its listener do, written into its payload. */
export type Behaviour =
  | 'succeed'
  | 'slow'
  | 'outlastLease'
  | 'failOnce'
  | 'deferAtFirst'
  | 'hangOnce'
  | 'alwaysFail'
  | 'giveUp'
  | 'unheard'
  | 'heardByOdd'
  | 'heardByEven'
  | 'outlastClose'
  | 'poison'
  | 'block'

/** What a listener does in one delivery. `hang` continues after its time is up. */
export type Act = 'succeed' | 'fail' | 'defer' | 'giveUp' | 'hang' | 'killProcess'
