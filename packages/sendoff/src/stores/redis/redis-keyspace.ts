import { OutboxError } from '../../errors.ts'

/**
 * What an outbox has in Redis, in the order in which every script gets it. All names have one hash tag, so that a
 * Cluster keeps them in one place, and there are never more of them: rows are fields, not names of their own.
 *
 * A row is named by its `seq`, as sixteen digits, so that the order of texts is that of numbers.
 */
const names = [
  /** Hash: the last `seq`, how many rows have which status, the version, the last mode, how far paused rows were looked through. */
  'meta',
  /** Hash by row: what was written. */
  'rows',
  /** Hash by row: what changes, packed. */
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
  /** Set of what is paused. */
  'paused',
  /** Hash by id: mode and end of a process, packed. */
  'nodes',
  /** List of arguments of an insert that has more than one script takes; there only within a MULTI. */
  'staged',
] as const

/** The names in Redis of all that an outbox has there. */
export type RedisKeyspace = readonly string[]

const prefixPattern = /^[A-Za-z0-9_.:-]{1,100}$/

/** `{prefix}:meta` and so on. */
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

/** The channel of an outbox's signals. A prefix of the client's own applies to the keyspace, and not to this. */
export function wakeChannel(prefix: string): string {
  return `{${prefix}}:wake`
}

/** The names by which scripts know them. */
export const keyspaceNames = names.join(', ')

/** A row's name in Redis. */
export function memberOf(seq: number): string {
  return String(seq).padStart(16, '0')
}
