import type { OutboxStore } from 'sendoff/store'
import type { Service } from '../test/services/service.ts'
import type { OrderPayload } from './bench-event.ts'
import type { Measurement } from './metrics.ts'

export const suiteNames = [
  'drain',
  'destinations',
  'ordered',
  'write',
  'latency',
  'idle',
  'growth',
  'sustained',
  'steady',
  'strained',
  'relay',
  'outage',
  'admin',
  'operator',
  'inbox',
  'observe',
] as const

export type SuiteName = (typeof suiteNames)[number]

/** A store that can be measured. Each folder in `stores/` makes one, and `stores/stores.ts` lists it. */
export interface StoreBench {
  readonly name: string
  /** Clients that it can be measured with, the usual one first. */
  readonly drivers: readonly [string, ...string[]]
  /** How often each subject is measured by default. */
  readonly rounds: number
  /** Services that the store needs. */
  readonly services?: readonly Service[]
  readonly suites: Partial<Record<SuiteName, Suite>>
  /** Removes what a run may have left on a server that it did not start. */
  cleanUp?(conditions: Conditions): Promise<void>
}

export interface Suite {
  readonly subjects: readonly Subject[]
  /** The subject that all others are compared with; left out if there is nothing to compare with. */
  readonly limit?: string
  /** The system that users would choose instead. Subjects are compared with it as well. */
  readonly peer?: string
  /** Shows how exact each ratio is, for subjects that differ by a few percent. */
  readonly showsExactness?: true
  /** Measures all subjects at the same time: for subjects that do almost nothing for a long time. */
  readonly together?: true
  /** Subjects draw values over time, instead of bars at the end. */
  readonly drawsSeconds?: true
  /** The subject draws a chart of its own. */
  readonly drawsItself?: true
  /** Number of rounds, if one long measurement is enough, or the usual number too small. */
  readonly rounds?: number
  /** How long a rate is measured, in seconds, if it differs from other stores. */
  readonly seconds?: number
  /** Creates what all rounds share, before the first. */
  prepare?(conditions: Conditions): Promise<void>
}

/** Something to measure: Sendoff in one of its modes, code written by hand as a limit, or a peer. */
export interface Subject {
  /** Never changes once published, because results are compared by it. */
  readonly name: string
  /** The limit that does the same work, if it is not the one of the suite. */
  readonly ownLimit?: string
  /** The service that it needs beside those of its store. Without it, the subject is skipped. */
  readonly service?: Service
  /** The subject cannot share its work among processes. */
  readonly singleProcess?: true
  /** Measures once. Runs in a process of its own, on a new database. */
  measure(conditions: Conditions, draw?: (series: readonly Series[]) => void): Promise<Measurement>
  /** Starts a worker, for measurements that need workers in further processes. */
  readonly worker?: StartWorker
}

/** Values of a metric, one for each second. */
export interface Series {
  /** The metric and its unit. */
  readonly metric: string
  readonly values: readonly number[]
}

/** Begins to deliver the events of an existing database. Any process of the measurement may call it. */
export type StartWorker = (
  database: string,
  conditions: Conditions,
  onEvent: OnEvent,
) => Promise<RunningWorker>

/** Called at the start of each delivery. The payload is parsed only when it is read. */
export type OnEvent = (event: { readonly payload: OrderPayload }) => void

export interface RunningWorker {
  /**
   * Resolves when all deliveries are settled. Peers leave it out: their time ends with the last delivery,
   * which favours them.
   */
  settled?(): Promise<void>
  stop(): Promise<void>
}

/** The conditions of a measurement, the same for every subject of a run. */
export interface Conditions {
  /** An empty folder, removed afterwards. */
  readonly folder: string
  /** Distinguishes runs that use the same server. */
  readonly run: string
  /** Databases that measurements share stay on the server, and a later run of the same name uses them. */
  readonly isKept: boolean
  readonly driver: string
  readonly synchronous: 'FULL' | 'NORMAL'
  /** How many events wait for a drain. */
  readonly events: number
  /** How long writing, pacing or idling is measured, in seconds. */
  readonly seconds: number
  /** How many transactions arrive in a second. */
  readonly rate: number
  /** How many listeners run at once; Sendoff's default if left out. */
  readonly workers?: number
  /** How many worker processes share a drain, or the events that arrive. */
  readonly processes: number
  /** The share of its full number of rows that a grown table gets. */
  readonly scale: number
  /** File of the chart of values over time; no chart if left out. */
  readonly chart?: string
}

/** Databases for Sendoff's own subjects, on every store. */
export interface BenchDatabases<Tx> {
  /** Creates a database, with the outbox's tables and one for orders. */
  create(name: string, conditions: Conditions): Promise<BenchDatabase<Tx>>
  /** Opens an existing database, perhaps of another process. */
  open(name: string, conditions: Conditions): Promise<BenchDatabase<Tx>>
  /** Whether a kept database is there. */
  exists?(name: string, conditions: Conditions): Promise<boolean>
  /**
   * Returns the microseconds of CPU that the server has used so far, if there is one and it is on this
   * machine.
   */
  readonly serverCpuUs?: () => Promise<number | undefined>
}

export interface BenchDatabase<Tx> {
  /** Opens a store on its table, or on a second one. */
  openStore(table?: string): OutboxStore<Tx>
  /** Adds a row of business data. */
  insertOrder(tx: Tx, number: number): void | Promise<void>
  /** Finishes pending background work of the database before a measurement. */
  tidy?(): Promise<void>
  /** Returns what the database was asked to do so far, under the metric of its rate per second. */
  counts(): Promise<Measurement>
  /** Closes what it has opened for its stores. */
  close(): Promise<void>
}
