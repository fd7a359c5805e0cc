import { describeError } from '../describe-error.ts'
import { CollectedMetrics } from './collected-metrics.ts'
import type { CountedDelivery } from './delivery-counts.ts'
import { guarded } from './guarded.ts'
import type { MetricsSource } from './metrics-source.ts'
import type { RepeatedLines } from './repeated-lines.ts'

/**
 * Gets the counts and measurements of the engine. Every method must be quick and must not throw. The engine
 * does without optional methods: instead of `add…(count)`, it calls the method for one event `count` times.
 */
export interface MetricsExporter {
  /** An event went from its commit straight into the hot queue. */
  incrementHotEnqueued(): void
  /**
   * An event was left to the poller, because the hot queue was full or the event would have waited in it too
   * long.
   */
  incrementHotDropped(): void
  /** An event was left to the poller, because it is due later. */
  incrementHotSkippedDelayed(): void
  incrementColdEnqueued(): void
  /** An event was left to the poller, because the circuit breaker is open. */
  incrementHotBroken(): void
  incrementDispatchSuccess(): void
  /** A delivery failed and will be retried. */
  incrementDispatchFailure(): void
  incrementDispatchDead(): void
  incrementDispatchDeferred(): void
  /** The store refused a settlement that came too late: another process holds the event by now. */
  incrementSettlementRefused(): void
  recordQueueDepths(hotDepth: number, coldDepth: number): void
  /**
   * How many milliseconds the oldest event of a poll had been due, by the clock of this process. A
   * `MetricsSource` has the lag of the whole table.
   */
  recordOldestLagMs(lagMs: number): void
  recordListenerDurationMs(durationMs: number): void
  recordCircuitBreakerState(state: CircuitBreakerState): void

  addHotDropped?(count: number): void
  addHotSkippedDelayed?(count: number): void
  addColdEnqueued?(count: number): void
  addHotBroken?(count: number): void
  addDispatchSuccess?(count: number): void
  addDispatchFailure?(count: number): void
  addDispatchDead?(count: number): void
  addDispatchDeferred?(count: number): void
  /** Deliveries ended without their listener, because no rule said yes. They are successes, too. */
  addDispatchFiltered?(count: number): void
  /** Events were written by a transaction that this process has seen commit. */
  addWritten?(count: number): void
  /** This process lost its right to rows before it had settled them. */
  addLeasesLost?(count: number): void
  /** A purge deleted rows and idempotency keys. */
  addPurged?(rows: number, idempotencyKeys: number): void
  /** A delivery ended, and the store has written its outcome. */
  recordDelivery?(delivery: CountedDelivery): void
  /** A poll took `durationMs`, and returned this many rows. */
  recordPoll?(rows: number, durationMs: number): void
  /** The store took `durationMs` to write the outcomes of this many rows. */
  recordSettle?(rows: number, durationMs: number): void
  /**
   * Called when an outbox starts. The exporter may ask the source whenever its numbers are read. The outbox
   * calls the returned function when it closes.
   */
  observe?(source: MetricsSource): () => void
}

/** `closed`: all calls pass. `open`: none pass. `halfOpen`: a few pass, to see whether they succeed again. */
export type CircuitBreakerState = 'closed' | 'open' | 'halfOpen'

/** An exporter as the engine calls it: with every method. */
export interface EngineMetrics extends Omit<Required<MetricsExporter>, 'observe'> {
  /** Whether all numbers are dropped, so that the engine need not measure. */
  readonly isOff: boolean
}

/** Returns the exporter that an option asks for. Its methods never throw. */
export function metricsFrom(option: MetricsExporter | undefined, lines: RepeatedLines): EngineMetrics {
  if (option === undefined) return engineMetrics()
  // Our own never throws, and a guard would cost each event as much as the counting.
  if (Object.getPrototypeOf(option) === CollectedMetrics.prototype) return engineMetrics(option)
  const names = [...metricsMethods, ...optionalMethods].filter((name) => option[name] !== undefined)
  return engineMetrics(guarded(option, names, failedTo(lines)))
}

/** Passes the source to an exporter that wants one. Returns a function that ends it. Neither throws. */
export function observeWith(
  exporter: MetricsExporter | undefined,
  source: MetricsSource,
  lines: RepeatedLines,
): () => void {
  let end: unknown
  const onError = failedTo(lines)
  const calls = {
    begin: () => (end = exporter?.observe?.(source)),
    end: () => (typeof end === 'function' ? (end as () => unknown)() : undefined),
  }
  const safe = guarded(calls, ['begin', 'end'], onError)
  safe.begin()
  return () => safe.end()
}

function failedTo(lines: RepeatedLines): (error: unknown) => void {
  return (error) =>
    lines.tell('error', 'failures of the metrics exporter', () => [
      `The metrics exporter failed. ${describeError(error)}`,
      {},
    ])
}

/** Adds the optional methods that an exporter lacks. */
export function engineMetrics(exporter: MetricsExporter = noMetrics): EngineMetrics {
  if (exporter === noMetrics) return noEngineMetrics
  if ('isOff' in exporter) return exporter as EngineMetrics
  const complete: Record<string, unknown> = { isOff: false }
  for (const name of optionalMethods) complete[name] = () => {}
  for (const [name, one] of Object.entries(countsOfOne)) complete[name] = repeated(exporter, one)
  for (const name of [...metricsMethods, ...optionalMethods]) {
    if (exporter[name] !== undefined) complete[name] = (exporter[name] as () => void).bind(exporter)
  }
  return complete as object as EngineMetrics
}

function repeated(exporter: MetricsExporter, one: CountOfOne): (count: number) => void {
  return (count) => {
    for (let done = 0; done < count; done++) exporter[one]()
  }
}

/** The methods that count several events, and those that count one. */
const countsOfOne = {
  addHotDropped: 'incrementHotDropped',
  addHotSkippedDelayed: 'incrementHotSkippedDelayed',
  addColdEnqueued: 'incrementColdEnqueued',
  addHotBroken: 'incrementHotBroken',
  addDispatchSuccess: 'incrementDispatchSuccess',
  addDispatchFailure: 'incrementDispatchFailure',
  addDispatchDead: 'incrementDispatchDead',
  addDispatchDeferred: 'incrementDispatchDeferred',
} as const satisfies Partial<Record<keyof MetricsExporter, keyof MetricsExporter>>

type CountOfOne = (typeof countsOfOne)[keyof typeof countsOfOne]

/** The names of the methods that an exporter may leave out, without `observe`. */
export const optionalMethods = [
  ...(Object.keys(countsOfOne) as (keyof typeof countsOfOne)[]),
  'addDispatchFiltered',
  'addWritten',
  'addLeasesLost',
  'addPurged',
  'recordDelivery',
  'recordPoll',
  'recordSettle',
] as const satisfies readonly (keyof MetricsExporter)[]

/** An exporter that drops all numbers. */
export const noMetrics: MetricsExporter = {
  incrementHotEnqueued() {},
  incrementHotDropped() {},
  incrementHotSkippedDelayed() {},
  incrementColdEnqueued() {},
  incrementHotBroken() {},
  incrementDispatchSuccess() {},
  incrementDispatchFailure() {},
  incrementDispatchDead() {},
  incrementDispatchDeferred() {},
  incrementSettlementRefused() {},
  recordQueueDepths() {},
  recordOldestLagMs() {},
  recordListenerDurationMs() {},
  recordCircuitBreakerState() {},
}

/** The names of an exporter's methods. */
export const metricsMethods = Object.keys(noMetrics) as (keyof MetricsExporter)[]

const noEngineMetrics: EngineMetrics = {
  ...(Object.fromEntries(optionalMethods.map((name) => [name, () => {}])) as object as EngineMetrics),
  ...noMetrics,
  isOff: true,
}

/** Keeps the numbers in memory, for tests and for quick checks. */
export class InMemoryMetrics implements MetricsExporter {
  hotEnqueued = 0
  hotDropped = 0
  hotSkippedDelayed = 0
  coldEnqueued = 0
  hotBroken = 0
  circuitBreakerState: CircuitBreakerState = 'closed'
  dispatchSuccess = 0
  dispatchFailure = 0
  dispatchDead = 0
  dispatchDeferred = 0
  settlementRefused = 0
  hotDepth = 0
  coldDepth = 0
  oldestLagMs = 0
  listenerDurationMs = 0

  incrementHotEnqueued(): void {
    this.hotEnqueued++
  }
  incrementHotDropped(): void {
    this.hotDropped++
  }
  incrementHotSkippedDelayed(): void {
    this.hotSkippedDelayed++
  }
  incrementColdEnqueued(): void {
    this.coldEnqueued++
  }
  incrementHotBroken(): void {
    this.hotBroken++
  }
  recordCircuitBreakerState(state: CircuitBreakerState): void {
    this.circuitBreakerState = state
  }
  incrementDispatchSuccess(): void {
    this.dispatchSuccess++
  }
  incrementDispatchFailure(): void {
    this.dispatchFailure++
  }
  incrementDispatchDead(): void {
    this.dispatchDead++
  }
  incrementDispatchDeferred(): void {
    this.dispatchDeferred++
  }
  incrementSettlementRefused(): void {
    this.settlementRefused++
  }
  recordQueueDepths(hotDepth: number, coldDepth: number): void {
    this.hotDepth = hotDepth
    this.coldDepth = coldDepth
  }
  recordOldestLagMs(lagMs: number): void {
    this.oldestLagMs = lagMs
  }
  recordListenerDurationMs(durationMs: number): void {
    this.listenerDurationMs = durationMs
  }
}
