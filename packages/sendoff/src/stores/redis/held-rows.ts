import type { HeldRow, Lease } from '../../store/index.ts'
import { memberOf } from './redis-keyspace.ts'
import type { RunScript } from './drivers/run-script.ts'
import { releaseScript, renewScript } from './scripts/held-scripts.ts'

/** Leases held rows anew. Returns those that were lost meanwhile. */
export async function renewRows(
  run: RunScript,
  rows: readonly HeldRow[],
  lease: Lease,
): Promise<readonly HeldRow[]> {
  const leased = rows.filter((row) => row.lockedBy !== null)
  if (leased.length === 0) return rows

  const lost = (await run(renewScript, [String(lease.ms), ...leased.flatMap(heldArguments)])) as number[]
  const lostRows = new Set(lost.map((place) => leased[place - 1]!))
  return rows.filter((row) => row.lockedBy === null || lostRows.has(row))
}

/** Hands leased rows back. */
export async function releaseRows(run: RunScript, rows: readonly HeldRow[]): Promise<void> {
  const leased = rows.filter((row) => row.lockedBy !== null)
  if (leased.length > 0) await run(releaseScript, leased.flatMap(heldArguments))
}

function heldArguments({ seq, lockedBy, deliveries }: HeldRow): readonly string[] {
  return [memberOf(seq), lockedBy!, String(deliveries)]
}
