import { failedAttempt, settledFields } from '../../../../packages/sendoff/src/stores/memory/settle-rows.ts'
import {
  type OwnerFence,
  partitionOfRow,
  type Settlement,
  type SettleRequest,
  type StoredRow,
} from '../../../../packages/sendoff/src/store/index.ts'
import type { SimulatedDatabase } from '../simulated-database.ts'
import type { DatabaseTransaction, Program } from '../transaction.ts'
import { heldRow } from './held-statements.ts'
import { isOwner } from './lock-statements.ts'

/**
 * Records outcomes. Returns those that are refused. The statement shares the lock row of the owner, so that a
 * takeover waits for it, or it for a takeover. It reads the owners of partitions as they were at its beginning.
 */
export function* settleRows(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { settlements, owner }: SettleRequest,
): Program<readonly Settlement[]> {
  const partitions = db.partitions.map(({ committed }) => committed!)
  const needsOwner = settlements.some(({ row }) => row.lockedBy === null)
  const ownerHolds = needsOwner && owner !== undefined && (yield* sharesLock(db, tx, owner))
  yield 'pause'
  const refused: Settlement[] = []
  for (const settlement of settlements) {
    const { row: held, outcome } = settlement
    const cell = db.eventCell(held)
    const isOwned = held.lockedBy !== null || (ownerHolds && ownsPartition(held.epoch))
    function ownsPartition(epoch: number | undefined): boolean {
      if (epoch === undefined) return true
      const row = cell.committed
      if (row === undefined) return false
      const partition = partitions[partitionOfRow(row)]
      return partition?.owner === owner?.token && partition?.epoch === epoch
    }
    if (!isOwned || heldRow(cell, held) === undefined) {
      refused.push(settlement)
      continue
    }
    yield* tx.lock(cell, 'noKeyUpdate')
    const row = tx.read(cell)
    if (row === undefined || row !== cell.committed || heldRow(cell, held) === undefined) {
      refused.push(settlement)
      continue
    }
    settleRow(db, tx, settlement, row)
    if (outcome.kind === 'delete') tx.onCommit(() => db.attempts.delete(`${row.eventId}/${row.destination}`))
  }
  yield 'pause'
  return refused
}

function settleRow(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { outcome, row: held }: Settlement,
  row: StoredRow,
): void {
  const cell = db.eventCell(held)
  if (outcome.kind === 'delete') return db.writeEvent(tx, cell, undefined)
  const now = Math.floor(db.now())
  const fields = settledFields(row, outcome, now)
  const attempt = failedAttempt(row, outcome, fields.attempts ?? row.attempts, now)
  db.writeEvent(tx, cell, { ...row, ...fields })
  if (attempt === undefined) return
  const id = `${row.eventId}/${row.destination}`
  tx.onCommit(() => db.attempts.set(id, [...(db.attempts.get(id) ?? []), attempt]))
}

function* sharesLock(db: SimulatedDatabase, tx: DatabaseTransaction, owner: OwnerFence): Program<boolean> {
  if (!isOwner(db, owner)) return false
  yield* tx.lock(db.lockCell(owner.lock), 'keyShare')
  return isOwner(db, owner)
}
