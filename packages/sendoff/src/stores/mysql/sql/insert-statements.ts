import type { MysqlTables } from '../schema/mysql-tables.ts'
import { timeIn, wholeNow } from './row-conditions.ts'

const columns = `
         event_id, destination, event_type, aggregate_type, aggregate_id, tenant_id, ordering_key, partition_no,
         payload, payload_bytes, content_type, headers, occurred_at, available_at, created_at, deliveries, locked_by,
         locked_until`

/** The options that decide the text of an inserted row. */
export interface InsertedRowShape {
  readonly isFirst: boolean
  readonly isTimed: boolean
  readonly isClaimed: boolean
}

const flags = [false, true]

/**
 * One row of `insert`: a parameter for each column but `created_at`. If the due time is not given, its
 * parameter is a duration in microseconds. A lease is also a duration in microseconds; a row without a lease
 * has no parameters for it.
 */
export function insertedRow({ isFirst, isTimed, isClaimed }: InsertedRowShape): string {
  const eventId = isFirst ? inTransactionOnly : '?'
  const dueTime = isTimed ? '?' : timeIn
  const lease = isClaimed ? `1, ?, ${timeIn}` : '0, null, null'
  return `(${eventId}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${dueTime}, ${wholeNow}, ${lease})`
}

/**
 * A parameter that makes the statement fail (1690, out of range) if no transaction is open. Another statement
 * may have met a deadlock just before, and the rows would be kept by themselves. Only MariaDB knows whether a
 * transaction is open, and only MariaDB reads this part.
 */
export const inTransactionOnly = '/*M! if(@@in_transaction, */ ? /*M! , ~0 + 1) */'

/** The statements that run in the caller's transaction, for a checked table name. */
export function insertStatementsFor({ events, idempotency }: MysqlTables) {
  // insertedRow for each. The index `event` refuses an id used before.
  const insert = (rows: string) => `insert into ${events} (${columns})
  values ${rows}`

  // Built once: most transactions write a single row.
  const onlyRows = flags.map((isTimed) =>
    flags.map((isClaimed) => insert(insertedRow({ isFirst: true, isTimed, isClaimed }))),
  )

  return {
    insert,

    insertOnly: ({ isTimed, isClaimed }: Omit<InsertedRowShape, 'isFirst'>) =>
      onlyRows[Number(isTimed)]![Number(isClaimed)]!,

    // No parameters. By primary key. Returns the number of the first row that the last statement added, the
    // step from row to row, and the event id of the last row. The event id shows whether the server really
    // counts like this.
    insertedRange: (count: number) => `
  select last_insert_id(), @@auto_increment_increment,
         (select event_id
            from ${events}
           where seq = last_insert_id() + ${count - 1} * @@auto_increment_increment)`,

    // rowIds. By the index `event`.
    insertedSeqs: (rowIds: string) => `
  select seq, event_id, destination
    from ${events}
   where ${rowIds}`,

    // ? key, ? event id for each, in ascending order: transactions that use the same keys wait for each
    // other, and never in a circle. Also locks keys that were used before, exclusively.
    useKeys: (count: number) => `
  insert into ${idempotency} (\`key\`, event_id, created_at)
  values ${Array.from({ length: count }, () => `(?, ?, ${wholeNow})`).join()}
      on duplicate key update uses = uses + 1`,

    // The parameters of `keys`. By primary key. Returns which events used them, and how often that was tried.
    // The statement above has locked them, so this reads the current state, whatever the transaction saw
    // before.
    usedKeys: (keys: string) => `
  select \`key\`, event_id, uses
    from ${idempotency} force index (primary)
   where ${keys}
     for update`,

    // The parameters of `keys`. By primary key. The order and the limit make the server use it, because
    // DELETE cannot name an index.
    forgetKeys: (keys: string, count: number) => `
  delete from ${idempotency} where ${keys} order by \`key\` limit ${count}`,
  } as const
}
