import { describeError } from '../describe-error.ts'
import { guarded } from './guarded.ts'
import type { Logger } from './logger.ts'

/** Gets the counts and measurements of the engine. Every method must be quick and must not throw. */
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
  /** How many milliseconds the oldest event of a poll had been due. */
  recordOldestLagMs(lagMs: number): void
  recordListenerDurationMs(durationMs: number): void
  recordCircuitBreakerState(state: CircuitBreakerState): void
}

/** `closed`: all calls pass. `open`: none pass. `halfOpen`: a few pass, to see whether they succeed again. */
export type CircuitBreakerState = 'closed' | 'open' | 'halfOpen'

/** Returns the exporter that an option asks for. Its methods never throw. */
export function metricsFrom(option: MetricsExporter | undefined, logger: Logger): MetricsExporter {
  if (option === undefined) return noMetrics
  return guarded(option, metricsMethods, (error) =>
    logger.error(`The metrics exporter failed. ${describeError(error)}`),
  )
}

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
