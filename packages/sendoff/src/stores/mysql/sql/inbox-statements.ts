import type { MysqlTables } from '../schema/mysql-tables.ts'
import { inTransactionOnly } from './insert-statements.ts'
import { inMs } from './row-columns.ts'
import { ago, wholeNow } from './row-conditions.ts'

/** The statements of the inbox, for checked names. */
export function inboxStatementsFor({ inbox }: MysqlTables) {
  // ? consumer, ? message id, ? a number. By primary key. Waits for another transaction that has inserted the
  // same, and locks a mark that exists, exclusively: with a shared lock, two transactions that wait for a
  // third one would meet in a deadlock. The number becomes LAST_INSERT_ID if the mark exists. The servers do
  // not evaluate it if it is only compared with null.
  const mark = `
  insert into ${inbox} (consumer, message_id, received_at)
  values (${inTransactionOnly}, ?, ${wholeNow})
      on duplicate key update received_at = if(last_insert_id(?) = 0, received_at, received_at)`

  return {
    mark,

    // As mark, without waiting. For MariaDB alone.
    markAtOnce: `set statement innodb_lock_wait_timeout = 0 for ${mark}`,

    // No parameters. For handles that do not say what an insert returned.
    lastNumber: 'select last_insert_id()',

    // No parameters. Returns the version of the server and how many seconds it waits for a lock.
    lockWait: 'select version(), @@innodb_lock_wait_timeout',

    // How many seconds the connection waits for a lock. MySQL waits for one second at least.
    setLockWait: (seconds: number) => `set innodb_lock_wait_timeout = ${seconds}`,

    // ? consumer, ? message id. By primary key.
    isMarked: `select 1 from ${inbox} where consumer = ? and message_id = ?`,

    // ? consumer, ago, ? time to begin at. The oldest by the index `at`.
    // Without `skipsLocked`, locks nothing.
    oldMarks: (limit: number, skipsLocked: boolean) => `
  select message_id, received_at, ${inMs('received_at')}
    from ${inbox} force index (at)
   where consumer = ? and received_at < ${ago} and received_at >= ?
   order by received_at
   limit ${limit}${skipsLocked ? '\n     for update skip locked' : ''}`,

    // ? consumer, the parameters of `marks`. By primary key. The order and the limit make the server use it,
    // because DELETE cannot name an index.
    forgetMarks: (marks: string, count: number) => `
  delete from ${inbox} where consumer = ? and ${marks} order by consumer, message_id limit ${count}`,

    // ? consumer, the parameters of `marks`, ago. As forgetMarks, for marks that are not locked: a
    // concurrent purge may have deleted a mark meanwhile, and a consumer may have made it anew.
    forgetOldMarks: (marks: string, count: number) => `
  delete from ${inbox}
   where consumer = ? and ${marks} and received_at < ${ago}
   order by consumer, message_id
   limit ${count}`,
  } as const
}
