import {
  maxErrorLength,
  type Outcome,
  type OwnerFence,
  type Settlement,
  type SettleRequest,
} from '../../store/index.ts'
import { statementBatches } from '../sql/statement-batches.ts'
import type {
  CallersSession,
  LockingDriver,
  MysqlSession,
  StoreDriver,
  Value,
} from './drivers/mysql-driver.ts'
import { epochCondition, isInEpoch, type OwnedEpochs, ownership } from './owned-epochs.ts'
import { changesOf, countOf, storedText } from './sql/outcome-changes.ts'
import { textOf } from './sql/row-columns.ts'
import { rowIdCondition } from './sql/row-ids.ts'
import { alwaysTaken } from './sql/statement-size.ts'
import { fencesOf, inSeqOrder, rowsOf } from './sql/statement-values.ts'
import { attemptRow, type MysqlStatements } from './sql/statements.ts'

/** Records outcomes in one transaction. Returns the settlements that were refused. */
export async function settleRows(
  driver: LockingDriver,
  statements: MysqlStatements,
  { settlements, owner }: SettleRequest,
): Promise<readonly Settlement[]> {
  const { first, repeated } = firstOfEachRow(inSeqOrder(settlements, ({ row }) => row))
  if (first.length === 0) return []

  // Asked here, because in a transaction the pool may have no other connection for it.
  const skipsLocked = owner === undefined || (await driver.skipsLocked())
  const isSettled = await settleAlike(driver, statements, first, owner, skipsLocked)
  if (isSettled) return repeated

  const characters = first.reduce((sum, settlement) => sum + charactersOf(settlement), 0)
  const most = characters <= alwaysTaken ? alwaysTaken : await driver.mostCharacters()
  const refused = await driver.briefly((session) =>
    settleEach(session, statements, first, owner, { skipsLocked, most }),
  )
  return [...refused, ...repeated]
}

/** Thrown to undo a transaction that did not settle all rows. */
class Incomplete extends Error {
  override readonly name = 'Incomplete'
}

/**
 * Settles the common case in one statement: rows of one holder that are all done, or all to be deleted, and
 * all still held. Returns false, and changes nothing, in any other case.
 */
async function settleAlike(
  driver: StoreDriver,
  statements: MysqlStatements,
  batch: readonly Settlement[],
  owner: OwnerFence | undefined,
  skipsLocked: boolean,
): Promise<boolean> {
  const holder = batch[0]!.row.lockedBy
  const { kind } = batch[0]!.outcome
  const areAlike = batch.every(({ row, outcome }) => row.lockedBy === holder && isPlainly(outcome, kind))
  if (!areAlike || (holder === null && owner === undefined)) return false

  const rows = batch.map(({ row }) => row)
  const textFor = (owned: OwnedEpochs | undefined): string => {
    const [named, fences] = fencesOf(rows)
    const fenced = owned === undefined ? fences : `${fences} and ${epochCondition(rows, owned)}`
    return kind === 'delete'
      ? statements.settleDelete(named, fenced, batch.length)
      : statements.settleDone(named, fenced)
  }
  // A single row is either settled or not, so there is never anything to undo.
  if (batch.length === 1 && kind === 'done' && holder !== null) {
    return (await driver.run(textFor(undefined), [holder])).affectedRows === 1
  }

  try {
    await driver.briefly(async (session) => {
      const owned =
        holder === null ? await ownership(session, statements, batch, owner, skipsLocked) : undefined
      if (holder === null && owned === undefined) throw new Incomplete()
      const { affectedRows } = await session.run(textFor(owned), [holder])
      if (affectedRows !== batch.length) throw new Incomplete()
      if (kind === 'delete') await forgetHistory(session, statements, batch)
    })
    return true
  } catch (error) {
    if (error instanceof Incomplete) return false
    throw error
  }
}

function isPlainly(outcome: Outcome, kind: Outcome['kind']): boolean {
  if (outcome.kind !== kind) return false
  return kind === 'delete' || (outcome.kind === 'done' && outcome.failure === undefined)
}

/** Locks the rows first, to find out which of them are still held. */
async function settleEach(
  session: MysqlSession,
  statements: MysqlStatements,
  batch: readonly Settlement[],
  owner: OwnerFence | undefined,
  { skipsLocked, most }: { readonly skipsLocked: boolean; readonly most: number },
): Promise<readonly Settlement[]> {
  const needsOwner = batch.some(({ row }) => row.lockedBy === null)
  const owned = needsOwner ? await ownership(session, statements, batch, owner, skipsLocked) : undefined

  const { rows } = await session.run(statements.lockRows(rowsIn(batch)))
  const locked = new Map(rows.map(([seq, ...fields]) => [Number(seq), fields]))
  const isHeld = ({ row }: Settlement): boolean => {
    const [deliveries, lockedBy, , partition] = locked.get(row.seq) ?? []
    if (deliveries === undefined || Number(deliveries) !== row.deliveries) return false
    if (textOf(lockedBy) !== row.lockedBy) return false
    return row.lockedBy !== null || (owned !== undefined && isInEpoch(row, Number(partition), owned))
  }

  const accepted = batch.filter(isHeld)
  await recordOutcomes(session, statements, accepted, (seq) => Number(locked.get(seq)![2]), most)
  return batch.filter((settlement) => !isHeld(settlement))
}

/**
 * Records the outcomes of rows that this transaction has locked. The parameters of a statement together have
 * at most `mostCharacters`.
 */
export async function recordOutcomes(
  session: CallersSession,
  statements: MysqlStatements,
  accepted: readonly Settlement[],
  attemptsBefore: (seq: number) => number,
  mostCharacters = Infinity,
): Promise<void> {
  await removeRows(session, statements, accepted)
  const most = { items: Infinity, characters: mostCharacters }
  for (const batch of statementBatches(accepted, most, charactersOf)) {
    await changeRows(session, statements, batch)
    await addHistory(session, statements, batch, attemptsBefore)
  }
}

// Ids and numbers of a settlement, beside the text of its failure.
const charactersBesideError = 200

function charactersOf({ outcome }: Settlement): number {
  const error =
    'failure' in outcome ? outcome.failure?.error : 'reason' in outcome ? outcome.reason : undefined
  return charactersBesideError + Math.min(error?.length ?? 0, maxErrorLength)
}

async function removeRows(
  session: CallersSession,
  statements: MysqlStatements,
  accepted: readonly Settlement[],
): Promise<void> {
  const removed = accepted.filter(({ outcome }) => outcome.kind === 'delete')
  if (removed.length === 0) return

  await session.run(statements.deleteRows(rowsIn(removed), removed.length))
  await forgetHistory(session, statements, removed)
}

async function forgetHistory(
  session: CallersSession,
  { deleteAttempts }: MysqlStatements,
  removed: readonly Settlement[],
): Promise<void> {
  const { condition, values } = rowIdCondition(removed.map(({ row }) => row))
  await session.run(deleteAttempts(condition), values)
}

async function changeRows(
  session: CallersSession,
  statements: MysqlStatements,
  accepted: readonly Settlement[],
): Promise<void> {
  const kept = accepted.filter(({ outcome }) => outcome.kind !== 'delete')
  for (const group of Map.groupBy(kept, ({ outcome }) => `${outcome.kind} ${countOf(outcome)}`).values()) {
    const { text, values } = changesOf(group)
    await session.run(statements.settle(text, rowsIn(group)), values)
  }
}

async function addHistory(
  session: CallersSession,
  { addAttempts }: MysqlStatements,
  accepted: readonly Settlement[],
  attemptsBefore: (seq: number) => number,
): Promise<void> {
  const values: Value[] = []
  let count = 0
  for (const { row, outcome } of accepted) {
    const failure = 'failure' in outcome && outcome.kind !== 'delete' ? outcome.failure : undefined
    if (failure === undefined) continue

    const attempts = attemptsBefore(row.seq) + countOf(outcome)
    values.push(row.eventId, row.destination, attempts, storedText(failure.error), row.lockedBy)
    count += 1
  }
  if (count > 0)
    await session.run(addAttempts(Array.from({ length: count }, () => attemptRow).join()), values)
}

/** A settled row cannot be settled again, in the same batch or in a later one. */
function firstOfEachRow(inOrder: readonly Settlement[]): { first: Settlement[]; repeated: Settlement[] } {
  const first: Settlement[] = []
  const repeated: Settlement[] = []
  for (const settlement of inOrder) {
    const isRepeated = first.at(-1)?.row.seq === settlement.row.seq
    ;(isRepeated ? repeated : first).push(settlement)
  }
  return { first, repeated }
}

function rowsIn(batch: readonly Settlement[]): string {
  return rowsOf(batch.map(({ row }) => row.seq))
}
