import type { CircuitBreakerState } from './metrics.ts'

/** Tells an exporter the state of an outbox whenever the exporter asks. */
export interface MetricsSource {
  /** Returns what this process holds and does now. Reads only its memory. */
  process(): ProcessState
  /**
   * Returns the state of the table, at most 5 s old. Resolves to undefined if the store does not say, or does
   * not answer soon. Never rejects.
   */
  table(): Promise<TableState | undefined>
}

/** What a process holds and does. */
export interface ProcessState {
  /** How many deliveries wait in the hot and in the cold queue. */
  readonly queues: { readonly hot: number; readonly cold: number }
  /** How many rows the process holds by leases of their own, and how many under a lock. */
  readonly held: { readonly leased: number; readonly locked: number }
  /** How many partitions the process owns. */
  readonly partitions: number
  /** Milliseconds since the last poll that succeeded; undefined if the process does not poll. */
  readonly sincePollMs: number | undefined
  /** Whether calls of the store have failed, and none has succeeded since. */
  readonly isOutage: boolean
  /** The circuit breakers by destination. */
  readonly breakers: Readonly<Record<string, CircuitBreakerState>>
}

/** The state of a table by the clock of its database. It is the same for every process. */
export interface TableState {
  /** The time of the database's clock. */
  readonly at: number
  /** How long the oldest due event has been due, in milliseconds; 0 if none is due. */
  readonly lagMs: number
  /** How many rows there are. Above 10,000 these are estimates. */
  readonly rows: Readonly<Record<'NEW' | 'RETRY' | 'DONE' | 'DEAD', number>>
  /** How many rows block their ordering keys. */
  readonly blocked: number
  /** How many ordering keys are parked: up to 100. */
  readonly parked: number
  /** How long ago the oldest DEAD event became DEAD, in milliseconds; undefined if none is DEAD. */
  readonly oldestDeadMs: number | undefined
}
