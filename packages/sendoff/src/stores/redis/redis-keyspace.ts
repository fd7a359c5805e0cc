import { OutboxError } from '../../errors.ts'

/**
 * The keys of an outbox in Redis, in the order in which every script gets them. All keys have one hash tag,
 * so that a Cluster keeps them in one place. Their number is fixed: rows are fields, not keys of their own.
 *
 * A row is named by its `seq`, as sixteen digits, so that text order is number order.
 */
const names = [
  /**
   * Hash: the last `seq`, the number of rows of each status, the version, the last mode, how far paused rows
   * were examined, and the part of `sorted` that each destination has.
   */
  'meta',
  /** Hash by row: the fields that were written. */
  'rows',
  /** Hash by row: the fields that change, packed. */
  'state',
  /** Hash by event id: its row, or its rows by destination as JSON. */
  'ids',
  /** Sorted set of all rows by `seq`. */
  'written',
  /** Sorted set of the rows that can still fall due, by `seq`. */
  'pending',
  /** Sorted set of rows that no process holds, by due time. */
  'due',
  /** Sorted set of leased rows, by the end of the lease. */
  'leased',
  /** Sorted set of rows that a claim found paused, by due time. */
  'parked',
  /**
   * Sorted set of due rows of a table with several destinations: a part for each destination, by due time
   * within.
   */
  'sorted',
  /** Sorted set of DEAD rows by `seq`. */
  'dead',
  /** Hash by row: failed attempts as JSON, one after the other. */
  'attempts',
  /** Hash by idempotency key: the event that used it. */
  'keys',
  /** Sorted set of idempotency keys by the time of their use. */
  'keyTimes',
  /** Hash by name: owner, end and bounds of a lock, packed. */
  'locks',
  /** Set of paused targets. */
  'paused',
  /** Hash by id: mode, end and start of a process, packed. */
  'nodes',
  /**
   * List of arguments of an insert, if there are more than one script takes. It exists only within a MULTI.
   */
  'staged',
  /** Hash by id: time and text of the last report of a process, packed. */
  'reports',
  /** Hash by minute, process, type and destination: statistics as JSON. */
  'stats',
  /** Sorted set of the fields of `stats` by minute. */
  'statMinutes',
  /** Hash by id: audit entries as JSON. */
  'audits',
  /** Sorted set of the ids of audit entries. */
  'auditIds',
  /** Hash by event id and destination: the ids of the audit entries about a row. */
  'auditsOfRows',
] as const

/** The names of all keys of an outbox in Redis. */
export type RedisKeyspace = readonly string[]

const prefixPattern = /^[A-Za-z0-9_.:-]{1,100}$/

/** Returns the keys for a prefix: `{prefix}:meta` and so on. */
export function redisKeyspace(prefix: unknown): RedisKeyspace {
  if (typeof prefix === 'string' && prefixPattern.test(prefix)) {
    return names.map((name) => `{${prefix}}:${name}`)
  }
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `Option "prefix" of redisStore cannot be ${JSON.stringify(prefix) ?? String(prefix)}. ` +
      'Choose up to 100 letters, digits, underscores, hyphens, dots and colons; it becomes the hash tag of all keys.',
  )
}

/**
 * Returns the channel of an outbox's signals. The client's own key prefix applies to the keys, but not to the
 * channel.
 */
export function wakeChannel(prefix: string): string {
  return `{${prefix}}:wake`
}

/** The variables that hold the keys in scripts. */
export const keyspaceNames = names.join(', ')

/** Returns a row's name in Redis. */
export function memberOf(seq: number): string {
  return String(seq).padStart(16, '0')
}
