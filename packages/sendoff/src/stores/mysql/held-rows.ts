import type { FencedRow, HeldRow, Lease } from '../../store/index.ts'
import type { MysqlDriver, Value } from './drivers/mysql-driver.ts'
import { durationValue, inSeqOrder, isAmong, numberList, rowsOf } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** Leases held rows anew and answers those that were lost. */
export async function renewRows<Tx extends object>(
  driver: MysqlDriver<Tx>,
  { renew, held }: MysqlStatements,
  rows: readonly HeldRow[],
  lease: Lease,
): Promise<readonly HeldRow[]> {
  const lost: HeldRow[] = rows.filter((row) => row.lockedBy === null)
  for (const { holder, rows: group } of byHolder(rows)) {
    const fences = fencesOf(group)
    const { affectedRows } = await driver.run(renew(...fences), [durationValue(lease.ms), holder])
    if (affectedRows === group.length) continue

    // Some are lost, or were renewed within the same millisecond before, which is no change.
    const answer = await driver.run(held(...fences), [holder])
    const kept = new Set(answer.rows.map(([seq]) => Number(seq)))
    lost.push(...group.filter((row) => !kept.has(row.seq)))
  }
  return lost
}

/** Hands leased rows back. */
export async function releaseRows<Tx extends object>(
  driver: MysqlDriver<Tx>,
  { release }: MysqlStatements,
  rows: readonly HeldRow[],
): Promise<void> {
  for (const { holder, rows: group } of byHolder(rows)) {
    const fences = fencesOf(group)
    await driver.run(release(...fences), [holder])
  }
}

/** Conditions for the one called `held`. */
export function fencesOf(rows: readonly FencedRow[]): [rows: string, fences: string] {
  return [rowsOf(rows.map((row) => row.seq)), fenceCondition(rows)]
}

// Mostly all of them are delivered for the first time, which takes a tenth of the text to say.
function fenceCondition(rows: readonly FencedRow[]): string {
  const deliveries = rows[0]?.deliveries
  if (rows.every((row) => row.deliveries === deliveries)) return `deliveries = ${numberList([deliveries!])}`

  const fences = rows.map((row) => `(${numberList([row.seq, row.deliveries])})`)
  return isAmong('(seq, deliveries)', fences)
}

// Mostly one: this process.
function byHolder(rows: readonly HeldRow[]): readonly { holder: Value; rows: readonly HeldRow[] }[] {
  const leased = inSeqOrder(rows, (row) => row).filter((row) => row.lockedBy !== null)
  return [...Map.groupBy(leased, (row) => row.lockedBy)].map(([holder, group]) => ({ holder, rows: group }))
}
