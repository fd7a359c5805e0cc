import type { MysqlTables } from '../schema/mysql-tables.ts'
import { lockingRead } from './locking-read.ts'
import { inMs, rowColumns } from './row-columns.ts'
import type { DueOptions } from './row-conditions.ts'
import { due, dueIndex, freeRow, now, timeIn } from './row-conditions.ts'

/** The statements about named locks and for their owners, for checked names. */
export function lockStatementsFor(tables: MysqlTables) {
  const { events, lock } = tables
  const bounds = `${inMs('low_at')}, low_seq, ${inMs('high_at')}, high_seq`

  return {
    // ? name, ? token. By primary key. Returns a row if another owner has the lock. Locks nothing.
    lockOfOthers: `select 1 from ${lock} where name = ? and token <> ? and \`until\` > ${now}`,

    // ? name, ? token. By primary key. Returns a row if the lock is this owner's. Locks nothing.
    ownLock: `select 1 from ${lock} where name = ? and token = ? and \`until\` > ${now}`,

    // ? name. By primary key. Makes the row if it does not exist, and locks it: waits for settlements of the
    // last owner.
    makeLock: `
  insert into ${lock} (name, token, \`until\`)
  values (?, '', '1970-01-01')
      on duplicate key update name = name`,

    // ? name for each. By primary key, and in its order: two writers that lock several names never wait for
    // each other in a circle.
    lockNames: (names: string) => `
  select 1
    from ${lock} force index (primary)
   where name in (${names})
   order by name
     for update`,

    // ? name for each, in order. By primary key. Makes and locks rows, as makeLock.
    makeLocks: (count: number) => `
  insert into ${lock} (name, token, \`until\`)
  values ${Array.from({ length: count }, () => "(?, '', '1970-01-01')").join()}
      on duplicate key update name = name`,

    // ? token, ? name. By primary key. Returns whether the lock is the owner's own, whether it has run out,
    // and what it records.
    lockRow: `
  select token = ?, \`until\` <= ${now}, held, ${bounds}
    from ${lock}
   where name = ?
     for update`,

    // ? token, timeIn, ? name. By primary key.
    takeLock: `update ${lock} set token = ?, \`until\` = ${timeIn} where name = ?`,

    // ? and ? low due time, ? low seq, ? and ? high due time, ? high seq, perhaps ? destination. By the index
    // `due` or `destination` between the bounds, about as many rows as the last owner held. A row that
    // another transaction has locked is being leased, or was never read.
    leftRows: (ofDestination: boolean, byDestination = false) =>
      lockingRead({
        columns: 'seq',
        table: events,
        index: dueIndex({ byDestination }),
        key: 'seq',
        where: `due_at >= ? and (due_at > ? or seq >= ?)
     and due_at <= ? and (due_at < ? or seq <= ?)
     and locked_by is null${ofDestination ? ' and destination = ?' : ''}`,
      }),

    // No parameters. By primary key.
    countLosses: (rows: string) => `
  update ${events} force index (primary)
     set losses = losses + 1, deliveries = deliveries + 1
   where ${rows}`,

    // timeIn, ? name, ? token. By primary key.
    renewLock: `
  update ${lock}
     set \`until\` = ${timeIn}
   where name = ? and token = ? and \`until\` > ${now}`,

    // ? name, ? token. By primary key. What the owner held is forgotten with the row.
    releaseLock: `delete from ${lock} where name = ? and token = ?`,

    // ? name, ? token. By primary key. A takeover waits for the end of the transaction, and this statement
    // waits for a takeover. Without `skipsLocked` the server may be TiDB, which has no shared locks: it
    // refuses the words, or locks nothing.
    keepLock: (skipsLocked: boolean) => `
  select 1
    from ${lock}
   where name = ? and token = ? and \`until\` > ${now}
     ${skipsLocked ? 'lock in share mode' : 'for update'}`,

    // due, freeRow, ? name, ? token. By primary key: the bounds that are recorded, and whether anything is
    // due. Returns nothing without the lock.
    previewPoll: (options: DueOptions) => `
  select exists (select 1
                   from ${events} as event force index (${dueIndex(options)})
                  where ${due(options)}
                    and ${freeRow(tables, options)}),
         ${bounds}
    from ${lock}
   where name = ? and token = ? and \`until\` > ${now}`,

    // due, freeRow. Reads the index `due` or `destination` in its order: no sort, no DONE row touched.
    pollDue: (options: DueOptions, limit: number) => `
  select ${rowColumns}
    from ${events} as event force index (${dueIndex(options)})
   where ${due(options)}
     and ${freeRow(tables, options)}
   order by due_at, seq
   limit ${limit}`,

    // ? low due time, ? low seq, ? high due time, ? high seq, ? name, ? token. By primary key.
    recordBounds: `
  update ${lock}
     set low_at = ?, low_seq = ?, high_at = ?, high_seq = ?
   where name = ? and token = ? and \`until\` > ${now}`,

    // ? name. By primary key.
    forgetHeld: `
  update ${lock}
     set low_at = null, low_seq = null, high_at = null, high_seq = null, held = null
   where name = ?`,
  } as const
}
