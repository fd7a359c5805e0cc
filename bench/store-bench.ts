import type { OutboxStore } from 'sendoff/store'
import type { Service } from '../test/services/service.ts'
import type { OrderPayload } from './bench-event.ts'
import type { Measurement } from './metrics.ts'

export const suiteNames = [
  'drain',
  'ordered',
  'write',
  'latency',
  'idle',
  'growth',
  'sustained',
  'relay',
  'outage',
] as const

export type SuiteName = (typeof suiteNames)[number]

/** A store that can be measured. One folder in `stores/` makes one of these, and `stores/stores.ts` lists it. */
export interface StoreBench {
  readonly name: string
  /** The clients it can be measured with, the usual one first. */
  readonly drivers: readonly [string, ...string[]]
  /** How often each subject is measured, unless told otherwise. */
  readonly rounds: number
  /** What has to run for it. */
  readonly services?: readonly Service[]
  readonly suites: Partial<Record<SuiteName, Suite>>
  /** Removes what a run may have left on a server that is not its own. */
  cleanUp?(conditions: Conditions): Promise<void>
}

export interface Suite {
  readonly subjects: readonly Subject[]
  /** The subject to which all others are compared; left out where there is nothing to compare with. */
  readonly limit?: string
  /** What users would pick instead, compared with as well. */
  readonly peer?: string
  /** Measures all subjects at the same time: for those that do next to nothing, and take long to do it. */
  readonly together?: true
  /** Its subject draws a chart of its own. */
  readonly drawsItself?: true
  /** Where once is enough, because one measurement is long, or the usual number too little. */
  readonly rounds?: number
  /** How long a rate is measured, where that is not what other stores need. */
  readonly seconds?: number
  /** Makes what all rounds share, before the first. */
  prepare?(conditions: Conditions): Promise<void>
}

/** Something to be measured: Sendoff in one of its modes, code written by hand as a limit, or a peer. */
export interface Subject {
  /** Never changes once published: results are compared by it. */
  readonly name: string
  /** The limit that does the same work, where that is not the one of the suite. */
  readonly ownLimit?: string
  /** What has to run for it, beside what its store needs. Where that is missing, so is the subject. */
  readonly service?: Service
  /** Cannot share its work among processes. */
  readonly singleProcess?: true
  /** Measures once. Runs in a process of its own, on a database that nobody has used before. */
  measure(conditions: Conditions): Promise<Measurement>
  /** For measurements that need it in further processes. */
  readonly worker?: StartWorker
}

/** Begins to deliver what is in a database that was made before, by any process of the measurement. */
export type StartWorker = (
  database: string,
  conditions: Conditions,
  onEvent: OnEvent,
) => Promise<RunningWorker>

/** Called at the start of each delivery. The payload costs nothing unless it is looked at. */
export type OnEvent = (event: { readonly payload: OrderPayload }) => void

export interface RunningWorker {
  /**
   * Resolves when what was delivered is settled. Left out for peers, whose time ends with the last
   * delivery: to their favour.
   */
  settled?(): Promise<void>
  stop(): Promise<void>
}

/** What a measurement is made under. The same for every subject of a run. */
export interface Conditions {
  /** An empty folder, removed afterwards. */
  readonly folder: string
  /** Tells runs apart that use the same server. */
  readonly run: string
  readonly driver: string
  readonly synchronous: 'FULL' | 'NORMAL'
  /** How many events wait for a drain. */
  readonly events: number
  /** How long writing, pacing or idling is measured. */
  readonly seconds: number
  /** Listeners at once; Sendoff's default where left out. */
  readonly workers?: number
  /** How many processes share a drain. */
  readonly processes: number
  /** The share of the rows that a grown table has at full size. */
  readonly scale: number
  /** Where to draw what changes with time; nowhere where left out. */
  readonly chart?: string
}

/** Databases as Sendoff's own subjects need them on every store. */
export interface BenchDatabases<Tx> {
  /** A new one, with the outbox's tables and one for orders. */
  create(name: string, conditions: Conditions): Promise<BenchDatabase<Tx>>
  /** One that was made before, maybe by another process. */
  open(name: string, conditions: Conditions): Promise<BenchDatabase<Tx>>
  /** Microseconds of CPU that the server has used so far, if there is one and it is on this machine. */
  readonly serverCpuUs?: () => Promise<number | undefined>
}

export interface BenchDatabase<Tx> {
  /** A store on it. Whoever asks for it closes it. */
  openStore(): OutboxStore<Tx>
  /** Adds a row of business data. */
  insertOrder(tx: Tx, number: number): void | Promise<void>
  /** Leaves no work of the past to be done in the background of a measurement. */
  tidy?(): Promise<void>
  /** What was asked of the database so far, under the metric that it is per second. */
  counts(): Promise<Measurement>
  /** Lets go of what it has opened for its stores. */
  close(): Promise<void>
}
