import type { HeldRow, RenewRequest } from '../../store/index.ts'
import type { PostgresSession, Statement, Value } from './drivers/postgres-driver.ts'
import { heldValues } from './sql/row-ids.ts'
import { roundedUp } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Leases held rows anew. Returns those that were lost. */
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
 * Changes rows. Returns those that the process no longer holds.
 *
 * The first statement skips rows that another transaction is changing, mostly to settle them. Later
 * statements wait for those rows one by one. A statement that waits while it holds no lock blocks no other,
 * so there is never a deadlock.
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
