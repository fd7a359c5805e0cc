import type { JudgedDelivery, JudgedHistory } from './judged-history.ts'

export type Explanation = 'plan' | 'timeout' | 'kill' | 'away' | 'lateStart' | 'lockHarm' | 'close'

/** Returns why an event was rightly delivered again; undefined if nothing explains it. */
export function explained(
  history: JudgedHistory,
  first: JudgedDelivery,
  second: JudgedDelivery,
): Explanation | undefined {
  const ended = first.endedAt !== undefined && first.endedAt <= second.at
  if (ended && (first.act === 'fail' || first.act === 'defer')) return 'plan'
  return explainedWhileRunning(history, first, second)
}

/** The same, for a second delivery that began before the first one ended. */
export function explainedWhileRunning(
  history: JudgedHistory,
  first: JudgedDelivery,
  second: JudgedDelivery,
): Explanation | undefined {
  const { hangTimeoutMs, hangGraceMs, leaseMs } = history.settings
  if (first.act === 'hang' && second.at - first.at >= hangTimeoutMs + hangGraceMs) return 'timeout'
  if (history.wasGivenUp(first, second.at)) return 'close'
  if ((history.killedAt(first.process) ?? Infinity) < second.at) return 'kill'
  if (history.wasAway(first.process, first.at, second.at)) return 'away'
  // A lease that could not be renewed shortly before may have run out in the middle of the delivery.
  if (history.wasCutOff(first.process, first.at - leaseMs, second.at)) return 'away'
  if (history.wasLockHarmed(first, second.at) || history.wasLockHarmed(second, second.at)) return 'lockHarm'
  return isLateStart(history, first, second) ? 'lateStart' : undefined
}

/**
 * Returns whether the second delivery was claimed before the first, by a process that was then stopped right
 * before its listener began. The library cannot prevent that: listeners have a fencing token for it.
 */
export function isLateStart(history: JudgedHistory, first: JudgedDelivery, second: JudgedDelivery): boolean {
  return second.token < first.token && history.wasAway(second.process, first.at, second.at)
}
