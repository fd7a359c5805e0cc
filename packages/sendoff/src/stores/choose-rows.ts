import { EventStatus, isPending } from '../store/event-status.ts'
import {
  type ActionRow,
  type Bounds,
  type FencedRow,
  type HolderOfRow,
  inDueOrder,
  type RowAction,
  type RowId,
} from '../store/index.ts'

/** The part of a row that decides whether an action changes it. */
export interface ActionCandidate extends RowId {
  readonly seq: number
  readonly status: EventStatus
  readonly attempts: number
  readonly deliveries: number
  readonly availableAt: number
  readonly isBlocked: boolean
  readonly lockedBy: string | null
  /** Whether the lease of `lockedBy` lasts. */
  readonly isLeased: boolean
}

/** A lock that lasts, and what its owner holds. */
export interface LivingLock {
  readonly token: string
  readonly bounds: Bounds | null
  readonly held: readonly FencedRow[]
}

/** The rows that an action changes, and those that it leaves because a worker holds them. */
export interface ChosenRows {
  readonly rows: readonly ActionCandidate[]
  readonly held: readonly HolderOfRow[]
}

/** Chooses among the rows that were found, in the order in which they were asked for, each once. */
export function chooseRows(
  action: RowAction,
  wanted: readonly ActionRow[],
  found: readonly ActionCandidate[],
  locks: readonly LivingLock[],
): ChosenRows {
  const candidates = new Map(found.map((row) => [nameOf(row), row]))
  const rows: ActionCandidate[] = []
  const held: HolderOfRow[] = []
  for (const { eventId, destination, deliveries } of wanted) {
    const name = nameOf({ eventId, destination })
    const row = candidates.get(name)
    if (row === undefined || (deliveries !== undefined && deliveries !== row.deliveries)) continue
    candidates.delete(name)
    if (!applies(action, row)) continue
    const holder = action === 'cancel' ? holderOf(row, locks) : undefined
    if (holder === undefined) rows.push(row)
    else held.push({ eventId, destination, holder })
  }
  return { rows, held }
}

/** Returns the worker that holds a pending row, by a lease or by a lock. */
export function holderOf(row: ActionCandidate, locks: readonly LivingLock[]): string | undefined {
  if (row.lockedBy !== null) return row.isLeased ? row.lockedBy : undefined
  return locks.find(({ bounds, held }) => isRecorded(row, held) || isWithin(row, bounds))?.token
}

/** Returns one text for both parts of a row id. */
function nameOf({ eventId, destination }: RowId): string {
  return `${eventId}\n${destination}`
}

function applies(action: RowAction, { status, isBlocked }: ActionCandidate): boolean {
  if (action === 'replay') return status === EventStatus.DEAD
  if (action === 'purge') return !isPending(status)
  return isPending(status) && (action === 'cancel' || isBlocked)
}

function isRecorded(row: ActionCandidate, held: readonly FencedRow[]): boolean {
  return held.some(({ seq, deliveries }) => seq === row.seq && deliveries === row.deliveries)
}

function isWithin(row: ActionCandidate, bounds: Bounds | null): boolean {
  if (bounds === null || row.isBlocked) return false
  return inDueOrder(row, bounds.low) >= 0 && inDueOrder(row, bounds.high) <= 0
}
