import { partitionOfRow, type StoredRow } from '../../../packages/sendoff/src/store/index.ts'
import type { DeliveryStart } from '../../faults/history/history-record.ts'
import type { Violation } from '../../faults/judge/checker.ts'
import { keepsOrder } from '../../faults/processes/node-setup.ts'
import { hasEnded, inWriteOrder, type SimulatedDatabase } from '../database/simulated-database.ts'
import type { SimulationPlan } from '../plan/simulation-plan.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/**
 * Judges the start of a listener by what the database holds at that very moment. No process can know as much, so
 * nothing has to be explained: a process that is not certain must not begin.
 */
export function earlyViolation(
  db: SimulatedDatabase,
  plan: SimulationPlan,
  process: SimulatedProcess,
  { event, token }: DeliveryStart,
): Violation | undefined {
  // A row for the empty destination has the name of its event.
  const row = db.events.get(event.includes('/') ? event : `${event}/`)?.committed
  if (row === undefined) {
    return { rule: 'a listener begins only for a committed event', message: `${process.name} began ${event}` }
  }
  const by = `${process.name} began ${event} with token ${token}`
  const doubt = hasEnded(row)
    ? `it is settled`
    : row.deliveries !== token
      ? `its token is ${row.deliveries}`
      : undefined
  if (doubt !== undefined)
    return {
      rule: 'a listener begins only while its process holds the event',
      message: `${by}, and ${doubt}`,
    }
  const isHeld = row.lockedBy === null ? holdsLock(db, row, process) : holdsLease(db, row, process)
  if (!isHeld) {
    const holder =
      row.lockedBy === null
        ? 'no lock of it covers the event'
        : `${row.lockedBy} holds it until ${row.lockedUntil! - db.now()} ms from now`
    return {
      rule: 'a listener begins only while its process holds the event',
      message: `${by}, and ${holder}`,
    }
  }
  return keepsOrder(plan.mode) ? outOfOrder(db, plan, row, by) : undefined
}

function holdsLease(
  db: SimulatedDatabase,
  { lockedBy, lockedUntil }: StoredRow,
  { name }: SimulatedProcess,
): boolean {
  return lockedBy!.startsWith(`${name}-`) && lockedUntil! > db.now()
}

function holdsLock(db: SimulatedDatabase, row: StoredRow, { name }: SimulatedProcess): boolean {
  for (const [lock, { committed }] of db.locks) {
    if (committed === undefined || !committed.token.startsWith(`${name}-`) || committed.until <= db.now())
      continue
    if (!lock.startsWith('partitions/')) {
      const isOfDestination =
        row.destination === '' ? !lock.includes('/') : lock.endsWith(`/${row.destination}`)
      if (isOfDestination) return true
      continue
    }
    if (db.partitions[partitionOfRow(row)]!.committed!.owner === committed.token) return true
  }
  return false
}

function outOfOrder(
  db: SimulatedDatabase,
  { mode }: SimulationPlan,
  row: StoredRow,
  by: string,
): Violation | undefined {
  if (mode === 'partitioned' && row.orderingKey === null) return undefined
  for (const { row: other } of db.pending(inWriteOrder)) {
    if (other.seq >= row.seq) break
    if (mode === 'partitioned' && other.orderingKey !== row.orderingKey) continue
    if (other.destination !== row.destination) continue
    // One that was written for later takes its place among those that are read after it is due.
    if (other.deliveries === 0 && isDelayed(other)) continue
    return {
      rule: 'no event begins before the one in front of it is settled',
      message: `${by}, and ${other.eventId}, written before it, is pending`,
    }
  }
  return undefined
}

function isDelayed({ availableAt, createdAt }: StoredRow): boolean {
  return availableAt > createdAt + 50
}
