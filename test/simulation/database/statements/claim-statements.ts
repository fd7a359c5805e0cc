import { hasChanged } from '../../../../packages/sendoff/src/store/has-changed.ts'
import { asRow } from '../../../../packages/sendoff/src/stores/memory/memory-row.ts'
import {
  type ClaimRequest,
  type ClaimTypesAnswer,
  type ClaimTypesRequest,
  inDueOrder,
  isPending,
  nextPlace,
  type Row,
  type StoredRow,
} from '../../../../packages/sendoff/src/store/index.ts'
import type { Cell } from '../cell.ts'
import type { SimulatedDatabase } from '../simulated-database.ts'
import type { DatabaseTransaction, Program } from '../transaction.ts'
import { dueRows, type FoundRow, isWanted, wishOf } from './due-rows.ts'

/** Claims due rows. Skips rows that others have locked, or have changed since the statement began. */
export function* claimRows(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  request: ClaimRequest,
): Program<readonly Row[]> {
  const { limit, rows } = request
  if (limit <= 0 || rows?.length === 0) return []
  if (rows !== undefined) return yield* claimNamed(db, tx, request)
  const found = dueRows(db, wishOf(request))
  yield 'pause'
  return yield* leased(db, tx, taken(tx, found, limit), request, false)
}

/** Claims due rows of some types, within a window. */
export function* claimRowsOfTypes(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  request: ClaimTypesRequest,
): Program<ClaimTypesAnswer> {
  const { limit, types, window, from } = request
  if (limit <= 0) return { rows: [], next: undefined }
  const looked = db
    .pending(inDueOrder)
    .filter(({ row }) => row.blockedAt === null && row.availableAt <= db.now())
    .filter(({ row }) => from === undefined || inDueOrder(row, from) >= 0)
    .slice(0, window)
  const last = looked.length < window ? undefined : looked.at(-1)?.row
  yield 'pause'
  const found = looked.filter(
    ({ row }) =>
      isWanted(db, row, wishOf(request)) &&
      types?.some(
        ({ aggregateType, eventType }) => row.aggregateType === aggregateType && row.eventType === eventType,
      ) !== false,
  )
  const rows = yield* leased(db, tx, taken(tx, found, limit), request, false)
  return { rows, next: nextPlace(rows, limit, last) }
}

function taken(tx: DatabaseTransaction, found: readonly FoundRow[], limit: number): Cell<StoredRow>[] {
  const cells: Cell<StoredRow>[] = []
  for (const { cell, row } of found) {
    if (cells.length >= limit) break
    if (cell.committed === row && cell.tryLock(tx, 'update')) cells.push(cell)
  }
  return cells
}

/** Claims rows by their ids. A row that was changed meanwhile is judged as it is now. */
function* claimNamed(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  request: ClaimRequest,
): Program<readonly Row[]> {
  const { rows = [], lease, limit, from, skipRecentMs = 0 } = request
  const wish = { ...(from && { from }), skipRecentMs, exceptHolder: lease.owner }
  const wanted = new Map(rows.map((id) => [db.eventCell(id), id]))
  const isSame = (cell: Cell<StoredRow>) =>
    cell.committed !== undefined && !hasChanged(cell.committed, wanted.get(cell)!)
  const found = [...wanted.keys()]
    .filter(isSame)
    .flatMap((cell) => (cell.committed === undefined ? [] : [{ cell, row: cell.committed }]))
    .filter(({ row }) => isPending(row.status) && isWanted(db, row, wish))
    .sort((a, b) => inDueOrder(a.row, b.row))
  yield 'pause'
  const cells: Cell<StoredRow>[] = []
  for (const { cell } of found) {
    if (cells.length >= limit) break
    const { committed } = cell
    if (!isSame(cell)) continue
    if (committed !== undefined && isWanted(db, committed, wish) && cell.tryLock(tx, 'update'))
      cells.push(cell)
  }
  return yield* leased(db, tx, cells, request, true)
}

function* leased(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  cells: readonly Cell<StoredRow>[],
  { lease }: Pick<ClaimRequest, 'lease'>,
  keepsOwn: boolean,
): Program<readonly Row[]> {
  const rows = cells.map((cell) => {
    const row = cell.committed!
    const isKept = row.lockedBy === null || (keepsOwn && row.lockedBy === lease.owner)
    const claimed = {
      ...row,
      lockedBy: lease.owner,
      lockedUntil: db.timeIn(lease.ms),
      deliveries: row.deliveries + 1,
      losses: row.losses + (isKept ? 0 : 1),
    }
    db.writeEvent(tx, cell, claimed)
    return asRow(claimed)
  })
  yield 'pause'
  return rows.sort(inDueOrder)
}
