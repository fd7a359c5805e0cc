import type { HeldRow, RenewRequest } from '../../store/index.ts'
import type { PostgresSession, Statement, Value } from './drivers/postgres-driver.ts'
import { heldValues } from './sql/row-ids.ts'
import { roundedUp } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Leases held rows anew and returns those that were lost. */
export async function renewRows(
  session: PostgresSession,
  { renew, renewOne }: PostgresStatements,
  { rows, lease }: RenewRequest,
): Promise<readonly HeldRow[]> {
  return changeHeld(session, [renew, renewOne], rows, [roundedUp(lease.ms)])
}

/** Hands leased rows back. */
export async function releaseRows(
  session: PostgresSession,
  { release, releaseOne }: PostgresStatements,
  rows: readonly HeldRow[],
): Promise<void> {
  const leased = rows.filter((row) => row.lockedBy !== null)
  await changeHeld(session, [release, releaseOne], leased)
}

/**
 * Changes rows and returns those that are held no longer. The first statement leaves out rows that another transaction is
 * changing, mostly to settle them. They are waited for one by one: a statement that waits without a lock of its own is
 * in no other's way, so that there is never a deadlock.
 */
async function changeHeld(
  session: PostgresSession,
  [many, one]: readonly [Statement, Statement],
  rows: readonly HeldRow[],
  values: readonly Value[] = [],
): Promise<HeldRow[]> {
  if (rows.length === 0) return []

  const lost: HeldRow[] = []
  for (const [place, isBusy] of await session.run(many, [...heldValues(rows), ...values])) {
    const row = rows[Number(place) - 1]!
    const isLost = isBusy !== 't' || (await session.run(one, [...heldValues([row]), ...values])).length > 0
    if (isLost) lost.push(row)
  }
  return lost
}
