import {
  type ActionAnswer,
  type ActionRequest,
  type ActionRow,
  type AuditStep,
  type CancelAnswer,
  type CancelRequest,
  type HolderOfRow,
  isAuditStep,
  type NewAuditEntry,
  type RowAction,
  type RowId,
} from '../../store/index.ts'
import { type ActionCandidate, chooseRows, type LivingLock } from '../choose-rows.ts'

/** The steps of an action, in one transaction of a database server. */
export interface ActionSteps {
  /**
   * Reads rows and locks them against changes. Leaves out rows that another transaction is changing, if
   * `skipsBusy`: it may be a worker that settles many rows, and would wait for this transaction in turn.
   */
  candidates(rows: readonly RowId[], skipsBusy: boolean): Promise<readonly ActionCandidate[]>
  /** Returns who is about to change pending rows: the holder of each lease, or null. */
  holders(rows: readonly RowId[]): Promise<readonly (RowId & { readonly lockedBy: string | null })[]>
  locks(): Promise<readonly LivingLock[]>
  replay(rows: readonly ActionCandidate[]): Promise<void>
  kill(rows: readonly ActionCandidate[], reason: string): Promise<void>
  remove(rows: readonly ActionCandidate[]): Promise<void>
  /** Adds an audit entry, and returns its id. */
  addEntry(entry: NewAuditEntry, affected: number): Promise<string>
  /** Records a step of a plan. Returns false if its progress is not as expected. */
  takeStep(step: AuditStep, affected: number): Promise<boolean>
  addEntryRows(id: string, rows: readonly RowId[]): Promise<void>
  eventOfKey(idempotencyKey: string): Promise<string | undefined>
  rowsOf(eventId: string): Promise<readonly RowId[]>
}

/** Acts on rows, and records it. Changes nothing if another process runs the plan. */
export async function runAction(
  steps: ActionSteps,
  { action, rows, reason = '', audit }: ActionRequest,
): Promise<ActionAnswer> {
  const chosen = await choose(steps, action, rows)
  const changed = chosen.rows.map(idOf)
  if (isAuditStep(audit)) {
    if (!(await steps.takeStep(audit, changed.length))) return { kind: 'overtaken' }
    if (changed.length > 0) await steps.addEntryRows(audit.id, changed)
  } else if (changed.length > 0) {
    await recordEntry(steps, audit, changed)
  }
  if (changed.length > 0) await change(steps, action, chosen.rows, reason)
  return { kind: 'ran', rows: changed, held: chosen.held }
}

/** Cancels an event within a transaction of the caller. */
export async function cancelWithin(
  steps: ActionSteps,
  { event, reason, audit }: Omit<CancelRequest<never>, 'tx'>,
): Promise<CancelAnswer> {
  const eventId = 'eventId' in event ? event.eventId : await steps.eventOfKey(event.idempotencyKey)
  const ids = eventId === undefined ? [] : await steps.rowsOf(eventId)
  const { rows, held } = await choose(steps, 'cancel', ids)
  const cancelled = rows.map(idOf)
  if (cancelled.length > 0) {
    await change(steps, 'cancel', rows, reason)
    await recordEntry(steps, audit, cancelled)
  }
  return { eventId: ids[0]?.eventId, rows: cancelled, held }
}

/** Adds an audit entry about rows, and returns its id. */
export async function recordEntry(
  steps: Pick<ActionSteps, 'addEntry' | 'addEntryRows'>,
  entry: NewAuditEntry,
  rows: readonly RowId[],
  affected = rows.length,
): Promise<string> {
  const id = await steps.addEntry(entry, affected)
  if (rows.length > 0) await steps.addEntryRows(id, rows)
  return id
}

async function choose(
  steps: ActionSteps,
  action: RowAction,
  rows: readonly ActionRow[],
): Promise<{ rows: readonly ActionCandidate[]; held: readonly HolderOfRow[] }> {
  if (rows.length === 0) return { rows: [], held: [] }
  const isCancel = action === 'cancel'
  const found = await steps.candidates(rows, isCancel)
  const chosen = chooseRows(action, rows, found, isCancel ? await steps.locks() : [])
  if (!isCancel) return chosen

  const known = new Set(found.map(nameOf))
  const busy = rows.filter((row) => !known.has(nameOf(row)))
  const holders = busy.length === 0 ? [] : await steps.holders(busy)
  const held = holders.map(({ eventId, destination, lockedBy }) => ({
    eventId,
    destination,
    holder: lockedBy ?? 'another transaction',
  }))
  return { rows: chosen.rows, held: [...chosen.held, ...held] }
}

async function change(
  steps: ActionSteps,
  action: RowAction,
  rows: readonly ActionCandidate[],
  reason: string,
): Promise<void> {
  if (action === 'replay') await steps.replay(rows)
  else if (action === 'purge') await steps.remove(rows)
  else await steps.kill(rows, reason)
}

function nameOf({ eventId, destination }: RowId): string {
  return `${eventId}\n${destination}`
}

function idOf({ eventId, destination }: RowId): RowId {
  return { eventId, destination }
}
