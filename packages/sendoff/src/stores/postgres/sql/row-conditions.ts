import type { PostgresTables } from '../schema/postgres-tables.ts'

/** The rows in <table>_written. The wording is that of the index, which lets PostgreSQL use it. */
export const pending = 'status in (0, 2)'

/**
 * The rows in <table>_due. To PostgreSQL this differs from `pending`, so a statement uses the index that is
 * meant.
 */
export const unblocked = 'status not in (1, 3) and blocked_at is null'

/** The rows of a destination in <table>_destination. */
export function unblockedOf(destination: string): string {
  return `status % 2 = 0 and blocked_at is null and destination = ${destination}`
}

/** The rows of a key and a destination in <table>_lane. */
export function pendingOfLane(key: string, destination: string): string {
  return `status % 2 = 0 and ordering_key = ${key} and destination = ${destination}`
}

/**
 * The rows of a key in <table>_key. The wording leaves PostgreSQL no other index for the rows of a key in
 * order.
 */
export function pendingOf(key: string): string {
  return `status & 1 = 0 and ordering_key = ${key}`
}

/**
 * Means the same as `pending`, but does not lead PostgreSQL to an index of pending rows: for statements that
 * go by primary key.
 */
export const unsettled = 'status & 1 = 0'

/**
 * A limit that PostgreSQL does not know when it plans. It then expects a tenth of all rows to be wanted, and
 * reads an index in its order. If it knew the limit, and its statistics showed fewer rows than that, it would
 * read and sort all rows, however many there are by now.
 */
export function rows(count: string): string {
  return `(select ${count}::integer)`
}

/**
 * Placed among the tables of a statement, it keeps the transaction from waiting for the disk. A crash of the
 * server within the next moments may undo the transaction, and then also everything that was committed after
 * it.
 */
export const uncertain = `(select set_config('synchronous_commit', 'off', true)) as uncertain`

/**
 * A subquery is evaluated once for each run of a statement, and its value can be searched for in an index.
 */
export const now = '(select clock_timestamp())'

/**
 * Whether a lock had run out when the statement began. The process that takes over counts losses in the rows
 * as they were then. It would miss what the owner did after that, in its last moments.
 */
export function wasOver(until = 'until'): string {
  return `${until} <= statement_timestamp()`
}

/** The time this many milliseconds from now, cut to whole ones. */
export function timeIn(ms: string): string {
  return `(select date_trunc('milliseconds', clock_timestamp() + ${ms}::float8 * interval '1 millisecond'))`
}

/** Rows that are due, at or behind a place in due order: -Infinity and 0 for all. */
export function dueFrom(at: string, seq: string, state = unblocked): string {
  return `${state}
     and (available_at, seq) >= (to_timestamp(${at}::float8 / 1000), ${seq}::bigint)
     and available_at <= ${now}`
}

/**
 * Whether a due row is free: not leased (except perhaps to `exceptHolder`), not paused, not too recent, and
 * for `destination`. A row is too recent if it was written within the last `skipRecentMs` milliseconds.
 * These two parameters may be null.
 */
export function freeRow(
  { control }: PostgresTables,
  skipRecentMs: string,
  { exceptHolder, destination }: { exceptHolder?: string; destination?: string } = {},
): string {
  const isHeld = exceptHolder === undefined ? 'locked_by is not null' : `locked_by <> ${exceptHolder}`
  return noneOf([
    ...(destination === undefined ? [] : [`destination <> ${destination}`]),
    `${isHeld} and locked_until > ${now}`,
    `event_type = any (array(select name from ${control} where kind = 'pauseType'))`,
    `created_at > (select clock_timestamp() - ${skipRecentMs}::float8 * interval '1 millisecond')`,
    `destination = any (array(select name from ${control} where kind = 'pauseDestination'))`,
  ])
}

/**
 * Whether none of these conditions holds, worded so that PostgreSQL always expects nearly all rows to fit.
 *
 * In a list of conditions, PostgreSQL estimates each. With statistics from a moment when all rows were
 * leased, or went to one destination, it would expect that none fit. It would then sort all due rows instead
 * of reading the index in its order. With 20,000 rows due, a claim would take 130 ms instead of 20. For a
 * CASE by itself it expects that half of the rows fit, which does not keep it from sorting.
 */
export function noneOf(conditions: readonly string[]): string {
  return `case ${conditions.map((each) => `when ${each} then null`).join('\n            ')} else true end is not null`
}

/** Whether no process has a lease on a row. */
export const unleased = noneOf([`locked_by is not null and locked_until > ${now}`])

/** Whether a row was written for later and no process has held it yet: it takes its place when it is due. */
export const isStillToCome = `available_at > ${now} and deliveries = 0 and blocked_at is null`

/**
 * Whether a row waits for an operator: it is blocked or paused, or its key is parked by a control of this
 * kind.
 */
export function isHeldUp({ control }: PostgresTables, parkKind = "'park'"): string {
  return `blocked_at is not null
                or event_type = any (array(select name from ${control} where kind = 'pauseType'))
                or destination = any (array(select name from ${control} where kind = 'pauseDestination'))
                or ordering_key in (select name from ${control} where kind = ${parkKind})`
}

/** Whether the times of a row allow its delivery now: it is due, and no process has a lease on it. */
export const isReady = `greatest(available_at, locked_until) <= ${now}`

/**
 * Whether a row is old enough to be deleted. DONE rows, DEAD rows and rows of any state each have an age in
 * milliseconds; null to keep them. If a row has an end state but no end time, its age counts from its
 * beginning.
 */
export function outlivedRow(done: string, dead: string, any: string): string {
  return `(status = 1 and coalesce(done_at, created_at) < ${timeAgo(done)}
        or status = 3 and coalesce(done_at, created_at) < ${timeAgo(dead)}
        or created_at < ${timeAgo(any)})`
}

/** The time this many milliseconds ago. */
export function timeAgo(ms: string): string {
  return `(select clock_timestamp() - ${ms}::float8 * interval '1 millisecond')`
}
