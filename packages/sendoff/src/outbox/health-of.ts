import { healthDefaults, type HealthThresholds, type OutboxHealth } from '../observe/health.ts'
import type { MetricsSource } from '../observe/metrics-source.ts'
import { durationText } from '../duration-text.ts'

/** What the health of an outbox depends on, besides its source of metrics. */
export interface HealthParts {
  readonly source: MetricsSource
  /** Why the outbox cannot work at all; undefined if it is started. */
  readonly notStarted: string | undefined
  /** Whether other processes use the table in another mode. */
  readonly isBarred: boolean
  /** Whether the store can tell the state of its table. */
  readonly hasLooks: boolean
  /** Milliseconds since the poller last did something; undefined if the process does not poll. */
  readonly sinceTryMs: number | undefined
  /** After how many milliseconds a poller that does nothing will never do something again. */
  readonly stalledMs: number
  readonly thresholds: HealthThresholds
}

/** Judges the health of an outbox. */
export async function healthOf(parts: HealthParts): Promise<OutboxHealth> {
  const { source, notStarted, isBarred, hasLooks, sinceTryMs, stalledMs, thresholds } = parts
  const { maxPollAgeMs = healthDefaults.maxPollAgeMs, maxLagMs, maxDeadMs } = thresholds
  const isIdle = (state: ReturnType<MetricsSource['process']>) => state.held.leased + state.held.locked === 0
  const table = notStarted === undefined && hasLooks ? await source.table() : undefined
  const process = source.process()
  const problems: string[] = []
  if (notStarted !== undefined) problems.push(notStarted)
  else if (process.isOutage || (hasLooks && table === undefined)) problems.push('The store does not answer.')
  if (isBarred) problems.push('Other processes use the table in another mode.')
  const { sincePollMs } = process
  if (
    notStarted === undefined &&
    sincePollMs !== undefined &&
    sincePollMs > maxPollAgeMs &&
    isIdle(process)
  ) {
    problems.push(`No poll has succeeded for ${durationText(sincePollMs)}.`)
  }
  if (table !== undefined && maxLagMs !== undefined && table.lagMs > maxLagMs) {
    problems.push(`The oldest due event has waited for ${durationText(table.lagMs)}.`)
  }
  const deadMs = table?.oldestDeadMs
  if (deadMs !== undefined && maxDeadMs !== undefined && deadMs > maxDeadMs) {
    problems.push(`An event has been DEAD for ${durationText(deadMs)}.`)
  }
  // A poller that tries and fails is alive. One that holds rows may wait for their listeners.
  const isStalled = sinceTryMs !== undefined && sinceTryMs > stalledMs && isIdle(process)
  return { isLive: !isStalled, isReady: problems.length === 0, problems, process, table }
}
