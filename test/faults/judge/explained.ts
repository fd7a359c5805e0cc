import type { JudgedDelivery, JudgedHistory } from './judged-history.ts'

export type Explanation = 'plan' | 'timeout' | 'kill' | 'away' | 'lateStart' | 'lockHarm' | 'close'

/** Why an event that was delivered before was rightly delivered again; undefined if nothing explains it. */
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
 * Whether the second one had been claimed before the first, by a process that was then stopped right
 * before its listener began. Nobody can prevent that: it is what listeners have a fencing token for.
 */
export function isLateStart(history: JudgedHistory, first: JudgedDelivery, second: JudgedDelivery): boolean {
  return second.token < first.token && history.wasAway(second.process, first.at, second.at)
}
