import type { HeldRow, RenewRequest } from '../../store/index.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteStatement, SqliteValue } from './drivers/sqlite-client.ts'

/** Leases held rows anew. Returns those that were lost meanwhile. */
export async function renewRows(own: OwnDriver, { rows, lease }: RenewRequest): Promise<readonly HeldRow[]> {
  if (rows.length === 0) return []

  return own.write(({ renew }, now) => {
    const until = Math.ceil(now + lease.ms)
    return rows.filter((row) => row.lockedBy === null || !changesHeld(renew, row, until))
  })
}

/** Hands leased rows back. */
export async function releaseRows(own: OwnDriver, rows: readonly HeldRow[]): Promise<void> {
  const leased = rows.filter((row) => row.lockedBy !== null)
  if (leased.length === 0) return

  await own.write(({ release }) => leased.forEach((row) => changesHeld(release, row)))
}

/**
 * Runs a statement that ends with the parameters called `held`. Returns false if the row is no longer held.
 */
export function changesHeld(statement: SqliteStatement, row: HeldRow, ...set: SqliteValue[]): boolean {
  return Number(statement.run(...set, row.seq, row.deliveries, row.lockedBy).changes) > 0
}
