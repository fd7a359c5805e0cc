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
  store: Pick<OutboxStore<never>, 'upkeep' | 'reports'>,
): (() => Promise<readonly string[]>) | undefined {
  if (store.upkeep === undefined && store.reports === undefined) return undefined
  return async () => {
    const warnings = (await store.upkeep?.()) ?? []
    await forgetStatistics(store.reports)
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
