import type { HeldRow, RenewRequest } from '../../store/index.ts'
import type { StoreDriver, Value } from './drivers/mysql-driver.ts'
import { durationValue, fencesOf, inSeqOrder } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** Leases held rows anew. Returns those that were lost. */
export async function renewRows(
  driver: StoreDriver,
  { renew, held }: MysqlStatements,
  { rows, lease }: RenewRequest,
): Promise<readonly HeldRow[]> {
  const lost: HeldRow[] = rows.filter((row) => row.lockedBy === null)
  for (const { holder, rows: group } of byHolder(rows)) {
    const fences = fencesOf(group)
    const { affectedRows } = await driver.run(renew(...fences), [durationValue(lease.ms), holder])
    if (affectedRows === group.length) continue

    // Some rows are lost, or were renewed within the same millisecond, which the server does not count as a
    // change.
    const answer = await driver.run(held(...fences), [holder])
    const kept = new Set(answer.rows.map(([seq]) => Number(seq)))
    lost.push(...group.filter((row) => !kept.has(row.seq)))
  }
  return lost
}

/** Hands leased rows back. */
export async function releaseRows(
  driver: StoreDriver,
  { release }: MysqlStatements,
  rows: readonly HeldRow[],
): Promise<void> {
  for (const { holder, rows: group } of byHolder(rows)) {
    const fences = fencesOf(group)
    await driver.run(release(...fences), [holder])
  }
}

// There is mostly one holder: this process.
function byHolder(rows: readonly HeldRow[]): readonly { holder: Value; rows: readonly HeldRow[] }[] {
  const leased = inSeqOrder(rows, (row) => row).filter((row) => row.lockedBy !== null)
  return [...Map.groupBy(leased, (row) => row.lockedBy)].map(([holder, group]) => ({ holder, rows: group }))
}
