import type { Behaviour } from '../../faults/history/history-record.ts'
import type { FaultMode } from '../../faults/processes/node-setup.ts'
import type { PlannedCallFault } from '../world/network.ts'

/** How a simulated world chooses which of two things happens first. */
export type Strategy = 'random' | 'priority'

/**
 * Everything that is decided before a history begins. The same plan gives the same history, step by step. Any
 * transaction, event, fault or process can be left out, and the rest stays as it is.
 */
export interface SimulationPlan {
  readonly seed: number
  readonly mode: FaultMode
  readonly strategy: Strategy
  readonly settings: SimulationSettings
  readonly processes: readonly PlannedProcess[]
  readonly transactions: readonly PlannedTransaction[]
  readonly faults: readonly PlannedFault[]
}

/** Settings of all processes. Those that are not here have their defaults. */
export interface SimulationSettings {
  readonly leaseMs: number
  readonly intervalMs: number
  readonly workerCount: number
  readonly maxAttempts: number
  readonly maxLosses: number
  readonly hangTimeoutMs: number
  readonly hangGraceMs: number
  readonly closeMs: number
  readonly coldQueueCapacity: number
  readonly hotQueueCapacity: number
  readonly batchSize: number
  readonly listenersDiffer: boolean
  /** When the second destination cannot be reached; left out without destinations. */
  readonly broken?: { readonly from: number; readonly to: number }
}

export interface PlannedProcess {
  readonly slot: string
  readonly delivers: boolean
  readonly writes: boolean
}

/** A transaction that a process begins at some moment, or as soon as it can after that. */
export interface PlannedTransaction {
  readonly name: string
  readonly slot: string
  readonly at: number
  readonly events: readonly PlannedEvent[]
  /** How long the transaction stays open after its writes, in ms. */
  readonly openMs: number
  readonly rollsBack: boolean
  /** Whether all events are written by one statement. */
  readonly together: boolean
  /** Whether its events are written in an inner part, of which another part is undone. */
  readonly hasUndonePart: boolean
  /** The name of a transaction whose idempotency key it uses again, or its own. */
  readonly repeats?: string
}

export interface PlannedEvent {
  readonly id: string
  readonly behaviour: Behaviour
  readonly key?: string
  readonly delayMs?: number
}

/** Something that goes wrong, at a moment or with one call. */
export type PlannedFault =
  | { readonly kind: 'kill'; readonly at: number; readonly slot: string; readonly ms: number }
  | { readonly kind: 'freeze'; readonly at: number; readonly slot: string; readonly ms: number }
  | { readonly kind: 'restart'; readonly at: number; readonly slot: string; readonly ms: number }
  | { readonly kind: 'drift'; readonly at: number; readonly slot: string; readonly rate: number }
  | { readonly kind: 'jump'; readonly at: number; readonly slot: string; readonly ms: number }
  | { readonly kind: 'silence'; readonly at: number; readonly slot: string; readonly ms: number }
  | { readonly kind: 'slowNetwork'; readonly at: number; readonly slot: string; readonly ms: number }
  | { readonly kind: 'lostSignals'; readonly at: number; readonly ms: number }
  | { readonly kind: 'repeatedSignals'; readonly at: number; readonly ms: number }
  | {
      readonly kind: 'databaseCrash'
      readonly at: number
      readonly ms: number
      readonly losesUncertain: boolean
    }
  | { readonly kind: 'pause'; readonly at: number; readonly ms: number }
  | { readonly kind: 'call'; readonly at: number; readonly call: PlannedCallFault }

/** The kinds of faults that are not about one call. */
export type FaultKind = Exclude<PlannedFault['kind'], 'call'>
