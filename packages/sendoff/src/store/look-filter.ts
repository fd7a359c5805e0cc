import { EventStatus, isPending } from './event-status.ts'
import type { LookFilter, ScanOrder, ScanPlace } from './looks.ts'
import type { StoredRow } from './rows.ts'

/** The rows that an index of a store holds together. `key` has the pending rows of one ordering key. */
export type ScanScope = 'key' | 'pending' | 'dead' | 'blocked' | 'all'

/** Returns the smallest scope that holds all rows of a filter. All but `all` are in write order. */
export function scanScope({ status, isBlocked, eventId, orderingKey }: LookFilter): ScanScope {
  if (eventId !== undefined) return 'all'
  if (isBlocked) return 'blocked'
  if (status === undefined || status.length === 0) return 'all'
  if (status.every((code) => code === EventStatus.DEAD)) return 'dead'
  if (!status.every(isPending)) return 'all'
  return orderingKey === undefined ? 'pending' : 'key'
}

/** Compares two places in the order of a scan, for sorting. */
export function inScanOrder(scope: ScanScope, order: ScanOrder): (a: ScanPlace, b: ScanPlace) => number {
  const sign = order === 'newest' ? -1 : 1
  if (scope !== 'all') return (a, b) => sign * (a.seq - b.seq)
  return (a, b) => sign * (compareText(a.eventId, b.eventId) || compareText(a.destination, b.destination))
}

/** Whether a row matches a filter. For stores that cannot leave this to their database. */
export function matchesFilter(row: StoredRow, filter: LookFilter): boolean {
  const { status, isBlocked, since, until, errorClass, text, bound } = filter
  if (status !== undefined && !status.includes(row.status)) return false
  if (isBlocked && (row.blockedAt === null || !isPending(row.status))) return false
  if (!sameFields.every((name) => filter[name] === undefined || filter[name] === row[name])) return false
  if (since !== undefined && !(row.createdAt >= since)) return false
  if (until !== undefined && !(row.createdAt < until)) return false
  if (errorClass !== undefined && errorClassOf(row.lastError) !== errorClass) return false
  if (text !== undefined && !includesText(row, text)) return false
  return bound === undefined || (row.seq <= bound.seq && lastChangeOf(row) <= bound.at)
}

/** Returns the class of an error text: what stands before its first colon. */
export function errorClassOf(error: string | null): string | null {
  if (error === null) return null
  const end = error.indexOf(':')
  return end < 0 ? error : error.slice(0, end)
}

const sameFields = [
  'eventId',
  'eventType',
  'destination',
  'aggregateType',
  'aggregateId',
  'tenantId',
  'orderingKey',
] as const

function includesText({ payload, lastError }: StoredRow, text: string): boolean {
  return (typeof payload === 'string' && payload.includes(text)) || lastError?.includes(text) === true
}

function lastChangeOf({ doneAt, blockedAt, createdAt }: StoredRow): number {
  return doneAt ?? blockedAt ?? createdAt
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
