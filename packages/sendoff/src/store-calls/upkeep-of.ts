import type { OutboxStore } from '../store/index.ts'

/** How long statistics are kept: seven days. */
const keptMs = 7 * 24 * 3_600_000

/** How many rows of statistics one statement deletes. */
const batchSize = 1_000

/**
 * Returns the periodic work on a store: its own, and the deletion of old statistics in batches. Returns
 * undefined if there is none.
 */
export function upkeepOf(
  upkeep: OutboxStore<never>['upkeep'],
  reports: OutboxStore<never>['reports'],
): OutboxStore<never>['upkeep'] {
  if (upkeep === undefined && reports === undefined) return undefined
  return async () => {
    const warnings = (await upkeep?.()) ?? []
    await forgetStatistics(reports)
    return warnings
  }
}

// Statistics that stay longer do no harm. A schema without them, or a user without the right, is told of by
// the reports.
async function forgetStatistics(reports: OutboxStore<never>['reports']): Promise<void> {
  if (reports === undefined) return
  try {
    let deleted = batchSize
    while (deleted === batchSize) {
      deleted = await reports.forgetStatistics({ olderThanMs: keptMs, limit: batchSize })
    }
  } catch {
    // The next run tries again.
  }
}
