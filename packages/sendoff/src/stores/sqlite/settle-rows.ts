import type { Failure, HeldRow, OwnerFence, Settlement, SettleRequest } from '../../store/index.ts'
import { storedErrorText } from '../../store/error-text.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteStatement, SqliteValue } from './drivers/sqlite-client.ts'
import { changesHeld } from './held-rows.ts'
import type { PreparedStatements } from './sql/statements.ts'
import { ownedLock } from './sqlite-locks.ts'

/** Records outcomes. Returns the settlements that were refused. */
export async function settleRows(
  own: OwnDriver,
  { settlements, owner }: SettleRequest,
): Promise<readonly Settlement[]> {
  if (settlements.length === 0) return []
  return own.write((statements, now) => settleBatch(statements, settlements, owner, now))
}

function settleBatch(
  statements: PreparedStatements,
  batch: readonly Settlement[],
  owner: OwnerFence | undefined,
  now: number,
): readonly Settlement[] {
  // We read the lock in the transaction of the settlements, so that no process can take it over in between.
  const ownerHolds = owner !== undefined && ownedLock(statements, owner, now) !== undefined

  const refused = new Set<Settlement>()
  for (const group of groupsOf(batch)) {
    if (group[0]!.row.lockedBy === null && !ownerHolds) group.forEach((settlement) => refused.add(settlement))
    else settleGroup(statements, group, owner, now, refused)
  }
  return [...refused]
}

/** Groups settlements: those of one kind for rows of one claim together, all others alone. */
function groupsOf(batch: readonly Settlement[]): Iterable<readonly Settlement[]> {
  const groups = new Map<unknown, Settlement[]>()
  for (const settlement of batch) {
    const { row, outcome } = settlement
    const simple = outcome.kind === 'delete' || (outcome.kind === 'done' && outcome.failure === undefined)
    const alike = simple ? `${outcome.kind} ${row.deliveries} ${epochOf(row)} ${row.lockedBy}` : settlement
    const group = groups.get(alike)
    if (group === undefined) groups.set(alike, [settlement])
    else group.push(settlement)
  }
  return groups.values()
}

function settleGroup(
  statements: PreparedStatements,
  group: readonly Settlement[],
  owner: OwnerFence | undefined,
  now: number,
  refused: Set<Settlement>,
): void {
  if (group.length > 1 && settlesAtOnce(statements, group, owner, now)) return
  for (const settlement of group) {
    const isSettled =
      isInOwnPartition(statements, settlement.row, owner) && settleRow(statements, settlement, now)
    if (!isSettled) refused.add(settlement)
  }
}

/** Whether the owner still has the partition in which it read the row. */
function isInOwnPartition(
  { isInOwnedPartition }: PreparedStatements,
  row: HeldRow,
  owner: OwnerFence | undefined,
): boolean {
  const epoch = epochOf(row)
  return epoch === null || isInOwnedPartition.get(row.seq, owner!.token, epoch) !== undefined
}

/** The epoch to check; null for a leased row, which needs no check. */
function epochOf({ lockedBy, epoch }: HeldRow): number | null {
  return lockedBy === null ? (epoch ?? null) : null
}

/** Settles a group by one statement. Returns whether that settled all rows. If not, nothing has changed. */
function settlesAtOnce(
  statements: PreparedStatements,
  group: readonly Settlement[],
  owner: OwnerFence | undefined,
  now: number,
): boolean {
  const { row, outcome } = group[0]!
  const seqs = JSON.stringify(group.map((settlement) => settlement.row.seq))
  const epoch = epochOf(row)
  const held = [seqs, row.deliveries, row.lockedBy, epoch, owner?.token ?? null, epoch]
  statements.beginGroup.run()
  const { changes } =
    outcome.kind === 'delete'
      ? statements.settleDeleteGroup.run(...held)
      : statements.settleDoneGroup.run(now, ...held)

  const complete = Number(changes) === group.length
  if (!complete) statements.undoGroup.run()
  statements.keepGroup.run()
  if (complete && outcome.kind === 'delete') {
    for (const { row: deleted } of group) statements.deleteAttempts.run(deleted.eventId, deleted.destination)
  }
  return complete
}

/** Settles a row. Returns whether it was still held. */
export function settleRow(
  statements: PreparedStatements,
  { row, outcome }: Settlement,
  now: number,
): boolean {
  switch (outcome.kind) {
    case 'done': {
      const { failure } = outcome
      if (failure === undefined) return changesHeld(statements.settleDone, row, now)
      return recordsFailure(statements, statements.settleDoneFailed, row, failure, now, [now])
    }
    case 'delete':
      if (!changesHeld(statements.settleDelete, row)) return false
      statements.deleteAttempts.run(row.eventId, row.destination)
      return true
    case 'defer': {
      const reason = outcome.reason === undefined ? null : storedErrorText(outcome.reason)
      return changesHeld(statements.settleDefer, row, Math.ceil(now + outcome.delayMs), reason)
    }
    case 'retry': {
      const { failure, delayMs } = outcome
      const set = [Math.ceil(now + delayMs), storedErrorText(failure.error)]
      return recordsFailure(statements, statements.settleRetry, row, failure, now, set)
    }
    case 'block':
    case 'dead': {
      const { failure, kind } = outcome
      const statement = kind === 'block' ? statements.settleBlock : statements.settleDead
      return recordsFailure(statements, statement, row, failure, now, [now, storedErrorText(failure.error)])
    }
  }
}

function recordsFailure(
  statements: PreparedStatements,
  statement: SqliteStatement,
  row: HeldRow,
  failure: Failure,
  now: number,
  set: readonly SqliteValue[],
): boolean {
  const { eventId, destination, seq, deliveries, lockedBy } = row
  const counted = failure.counted ? 1 : 0
  const settled = statement.get(...set, counted, seq, deliveries, lockedBy)
  if (settled === undefined) return false

  const { attempts } = settled as { attempts: number }
  statements.addAttempt.run(eventId, destination, attempts, now, storedErrorText(failure.error), lockedBy)
  return true
}
