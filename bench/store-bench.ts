import type { OutboxStore } from 'sendoff'

export const suiteNames = ['drain', 'write', 'latency', 'idle'] as const

export type SuiteName = (typeof suiteNames)[number]

/** A store that can be measured. One folder in `stores/` makes one of these, and `stores/stores.ts` lists it. */
export interface StoreBench {
  readonly name: string
  /** The clients it can be measured with, the usual one first. */
  readonly drivers: readonly [string, ...string[]]
  readonly suites: Partial<Record<SuiteName, Suite>>
}

export interface Suite {
  readonly subjects: readonly Subject[]
  /** The subject to which all others are compared; left out where there is nothing to compare with. */
  readonly limit?: string
}

/** Something to be measured: Sendoff in one of its modes, code written by hand as a limit, or a peer. */
export interface Subject {
  /** Never changes once published: results are compared by it. */
  readonly name: string
  /** The limit that does the same work, where that is not the one of the suite. */
  readonly ownLimit?: string
  /** Measures once. Runs in a process of its own, on a database that nobody has used before. */
  measure(conditions: Conditions): Promise<Measurement>
}

/** Values by the name of their metric. */
export type Measurement = Readonly<Partial<Record<MetricName, number>>>

/** What each metric is called in a table, how many decimals it is worth, and whether less of it is better. */
export const metrics = {
  eventsPerSecond: { unit: 'events/s', decimals: 0 },
  cpuUsPerEvent: { unit: 'µs of CPU per event', decimals: 2, isCost: true },
  transactionsPerSecond: { unit: 'transactions/s', decimals: 0 },
  cpuUsPerTransaction: { unit: 'µs of CPU per transaction', decimals: 1, isCost: true },
  bulkEventsPerSecond: { unit: 'events/s, 1000 in a transaction', decimals: 0 },
  latencyP50Ms: { unit: 'ms, p50', decimals: 3, isCost: true },
  latencyP99Ms: { unit: 'ms, p99', decimals: 3, isCost: true },
  cpuMsPerSecond: { unit: 'ms of CPU per second', decimals: 2, isCost: true },
  statementsPerSecond: { unit: 'statements/s', decimals: 2, isCost: true },
} as const satisfies Record<string, Metric>

interface Metric {
  readonly unit: string
  readonly decimals: number
  readonly isCost?: true
}

export type MetricName = keyof typeof metrics

/** What a measurement is made under. The same for every subject of a run. */
export interface Conditions {
  /** An empty folder, removed afterwards. */
  readonly folder: string
  readonly driver: string
  readonly synchronous: 'FULL' | 'NORMAL'
  /** How many events wait for a drain. */
  readonly events: number
  /** How long writing, pacing or idling is measured. */
  readonly seconds: number
  /** Listeners at once; Sendoff's default where left out. */
  readonly workers?: number
}

/** A database made for one measurement, as Sendoff's own subjects need it on every store. */
export interface BenchDatabase<Tx> {
  /** A store on it. Whoever asks for it closes it. */
  openStore(): OutboxStore<Tx>
  /** Adds a row of business data. */
  insertOrder(tx: Tx, number: number): void | Promise<void>
  /** Statements that stores have sent so far, if the database was asked to count. */
  statementCount(): number
}

export type OpenDatabase<Tx> = (
  name: string,
  conditions: Conditions,
  options?: { readonly countStatements?: boolean },
) => Promise<BenchDatabase<Tx>>
