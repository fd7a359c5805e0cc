import type { AuditEntry, OutboxActions, StoredRow } from '../store/index.ts'

const newestEntries = 100

/**
 * Leaves out the rows that an operator has replayed since `at`. They were DEAD then, so a plan to cancel
 * pending rows that was made at that time does not mean them.
 *
 * Only a row whose time has changed since can be one of them, and only if there was a replay.
 */
export async function withoutReplayed<Tx>(
  actions: OutboxActions<Tx>,
  rows: readonly StoredRow[],
  at: number,
): Promise<readonly StoredRow[]> {
  const isReplay = (entry: AuditEntry) => entry.action === 'replay' && lastStepOf(entry) >= at
  const changed = rows.filter(({ deliveries, availableAt }) => deliveries > 0 && availableAt >= at)
  if (changed.length === 0) return rows
  const newest = await actions.audit({ limit: newestEntries })
  const isOlderHidden = newest.length === newestEntries && newest.at(-1)!.at >= at
  if (!isOlderHidden && !newest.some(isReplay)) return rows

  const replayed = new Set<StoredRow>()
  for (const row of changed) {
    const entries = await actions.auditOf({ row, limit: newestEntries })
    if (entries.some(isReplay)) replayed.add(row)
  }
  return rows.filter((row) => !replayed.has(row))
}

function lastStepOf({ at, updatedAt }: AuditEntry): number {
  return Math.max(at, updatedAt ?? at)
}
