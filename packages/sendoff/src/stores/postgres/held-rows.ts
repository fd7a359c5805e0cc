import type { HeldRow, Lease } from '../../store/index.ts'
import type { PostgresSession, Statement, Value } from './drivers/postgres-driver.ts'
import { heldValues } from './sql/row-keys.ts'
import { roundedUp } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Leases held rows anew and answers those that were lost. */
export async function renewRows(
  session: PostgresSession,
  { renew, renewOne }: PostgresStatements,
  rows: readonly HeldRow[],
  lease: Lease,
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
 * Changes rows and answers those that are held no longer. Those that somebody is changing meanwhile, mostly
 * to settle them, are left out at first and then waited for one by one: whoever waits with
 * nothing in hand is in nobody's way, so that there is never a deadlock.
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
