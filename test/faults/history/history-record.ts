import type { OwnedPartition } from '../../../packages/sendoff/src/store/index.ts'

/** What one process says of itself, or the driver of others. Times are milliseconds of the machine's monotonic clock. */
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
  /** Unique per process start; `driver` for the one that does the harm. */
  readonly process: string
}

/** Said right before COMMIT, or before the rollback that was planned. */
export interface Intent {
  readonly kind: 'intent'
  readonly tx: string
  /** Rolled back on purpose, or because of a write that was refused. */
  readonly rollsBack: boolean
  readonly events: readonly WrittenEvent[]
  /** Events of an inner part that was rolled back alone. */
  readonly undone: readonly string[]
  readonly repeated: readonly RepeatedWrite[]
}

/** A write with an idempotency key that was used before, which has to answer with the first one's event. */
export interface RepeatedWrite {
  readonly expected: string
  readonly answered: string
}

export interface WrittenEvent {
  readonly id: string
  readonly behaviour: Behaviour
  /** A delayed event must not start before this moment. */
  readonly notBefore?: number
  /** Its ordering key, if it was given one. */
  readonly key?: string
  /** When its write was answered. */
  readonly wroteAt?: number
}

/**
 * Said after the transaction ended. `unknown` is for an error that nobody planned, such as a connection that
 * was lost: whether the transaction was committed, only its business data says.
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

/** One answer of the store to a batch of outcomes. */
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
  /** Of a row that was read without a lease. */
  readonly underLock?: true
}

/** The store failed to answer to a batch of outcomes: whether it has taken them is not known. */
export interface SettlementsFailed {
  readonly kind: 'unsettled'
  /** When the store was asked. */
  readonly since: number
  readonly events: readonly string[]
}

/** The store has not answered to a batch of outcomes for so long that the engine may give it up. */
export interface SettlementsUnanswered {
  readonly kind: 'unanswered'
  /** When the store was asked. */
  readonly since: number
  readonly events: readonly string[]
}

/** The store says that partitions are this process's from now on. */
export interface PartitionsGained {
  readonly kind: 'gained'
  /** When the store was asked. */
  readonly since: number
  /** Under which token they were taken. */
  readonly token: string
  readonly partitions: readonly OwnedPartition[]
}

/** The store failed to answer: whether these partitions are this process's is not known. */
export interface PartitionsNotGained {
  readonly kind: 'notGained'
  readonly partitions: readonly number[]
}

/** Said right before the store is asked to free them. */
export interface PartitionsGivenUp {
  readonly kind: 'givenUp'
  readonly token: string
  /** All that there are where left out. */
  readonly partitions?: readonly number[]
}

/** The store says that the lock of those who deliver one at a time is this process's from now on. */
export interface LockTaken {
  readonly kind: 'lockTaken'
  /** When the store was asked. */
  readonly since: number
  readonly token: string
}

/** Said right before the store is asked to free it. */
export interface LockGivenUp {
  readonly kind: 'lockGivenUp'
  readonly token: string
}

/** From `since` until now this process could not have kept a lease: its database did not answer, or it did not run. */
export interface CutOff {
  readonly kind: 'cutOff'
  readonly since: number
  readonly what: string
}

/** The first answer of the database after a call that failed. */
export interface DatabaseBack {
  readonly kind: 'back'
}

/** Said when a process has started. */
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

/** Said when it is over: from `since` until now the way to the database was harmed. */
export interface Outage {
  readonly kind: 'outage'
  /** What was done. */
  readonly what: string
  readonly since: number
  /** Whose processes it was meant for; everybody's where left out. */
  readonly slot?: string
}

export interface ProcessExit {
  readonly kind: 'exit'
  readonly target: string
  readonly code: number | null
  readonly signal: string | null
  /** Whether the driver, or a poison event, brought it about. */
  readonly expected: boolean
  /** The last of what one that ended by itself has printed. */
  readonly output?: string
}

/** A process was asked to end, and had to be killed when it did not. */
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

/** What a listener does in one delivery. `hang` goes on after its time is up. */
export type Act = 'succeed' | 'fail' | 'defer' | 'giveUp' | 'hang' | 'killProcess'
