import type { MysqlTables } from '../schema/mysql-tables.ts'
import { isAmong } from './statement-values.ts'

/** The clock in whole milliseconds, like all stored times. */
export const wholeNow = 'utc_timestamp(3)'

/** The clock that judges leases and due times. */
export const now = 'utc_timestamp(6)'

/** Rows that are still to be delivered. */
export const pending = 'status in (0, 2)'

/** The values of `queue` for pending rows: NEW, RETRY, or blocked. */
export const pendingQueues = [0, 2, 3] as const

/**
 * Whether a pending row has its place in write order. All rows have one, except rows written for later that
 * no process has held yet.
 */
export const inLine = `(event.available_at <= ${now} or event.deliveries > 0 or event.blocked_at is not null)`

/** The time this many microseconds from now: ? microseconds. */
export const timeIn = `${wholeNow} + interval ? microsecond`

/** The time this many microseconds ago: ? microseconds. */
export const ago = `${now} - interval ? microsecond`

/** Options of a statement that finds due rows. */
export interface DueOptions {
  readonly from: boolean
  readonly skipRecent: boolean
  /** Finds rows only up to a place. */
  readonly to?: boolean
  /** Finds only rows of this many types. */
  readonly types?: number
  /** Finds only rows for one destination. */
  readonly destination?: boolean
  /** Finds them by the index `destination`, in its order. */
  readonly byDestination?: boolean
}

/** The index that leads to due rows in due order. */
export function dueIndex({ byDestination = false }: Pick<DueOptions, 'byDestination'>): string {
  return byDestination ? 'destination' : 'due'
}

/**
 * Rows that are due; with `byDestination`, ? destination; with `from`, ? due time, ? due time, ? seq to start
 * at; with `to`, the same to end at.
 */
export function due({ from, to = false, byDestination = false }: DueOptions): string {
  const destination = byDestination ? 'event.destination = ? and ' : ''
  const place = from ? ' and due_at >= ? and (due_at > ? or seq >= ?)' : ''
  const end = to ? ' and due_at <= ? and (due_at < ? or seq <= ?)' : ''
  return `${destination}due_at <= ${now}${place}${end}`
}

/**
 * Whether a due row is free: not leased, not paused, and with `skipRecent` not written within the last ?
 * microseconds. With `exceptHolder`, a lease of ? holder does not count. With `types`, it is also of one of
 * these, each ? aggregate type and ? event type. With `destination`, it is also for ? destination,
 * unless `byDestination` has found it by that.
 *
 * It is one CASE, because MySQL turns separate conditions with subqueries into joins, and then no longer
 * reads an index in its order. Subqueries lock nothing.
 */
export function freeRow(
  tables: MysqlTables,
  options: Omit<DueOptions, 'from'> & { exceptHolder?: boolean },
): string {
  const { skipRecent, exceptHolder = false, types = 0, destination = false, byDestination = false } = options
  const isHeld = exceptHolder ? 'event.locked_by <> ?' : 'event.locked_by is not null'
  const isRecent = skipRecent ? `when event.created_at > ${ago} then false` : ''
  const isForeign = types > 0 ? ` when not ${isOfTypes(types)} then false` : ''
  const isForOther = destination && !byDestination ? ' when event.destination <> ? then false' : ''
  return `case
           when ${isHeld} and event.locked_until > ${now} then false
           ${isRecent}${isForeign}${isForOther}
           when ${paused(tables)} then false
           else true
         end`
}

/** Whether an operator holds up a row without blocking it: it is paused, or its key is parked. */
export function heldUp(tables: MysqlTables): string {
  return `(${paused(tables)}
             or exists (select 1
                          from ${tables.control}
                         where kind = if(event.destination = '', 'park', concat('park/', event.destination))
                           and name = event.pending_key))`
}

// We compare bytes: otherwise a name and the same name with a trailing space would be equal.
function isOfTypes(count: number): string {
  const pairs = Array.from({ length: count }, () => '(?, ?)')
  return isAmong('(cast(event.aggregate_type as binary), cast(event.event_type as binary))', pairs)
}

// Names are bytes in the control table.
function paused({ control }: MysqlTables): string {
  return `(exists (select 1 from ${control} where kind = 'pauseType' and name = cast(event.event_type as binary))
             or exists (select 1 from ${control} where kind = 'pauseDestination' and name = cast(event.destination as binary)))`
}
