import type { MysqlTables } from '../schema/mysql-tables.ts'
import { lanesOf } from './lane-statements.ts'
import { storedColumns } from './row-columns.ts'
import { inLine, now, wholeNow } from './row-conditions.ts'

/**
 * The statements about ordering keys for operators, for checked names. Keys are parameters of bytes, as for
 * lanes.
 */
export function keyStatementsFor(tables: MysqlTables) {
  const { events, control } = tables

  return {
    // ? key to start behind, ? destination, ? kind of park, ? key to start behind. Finds rows that failed or
    // are blocked by the index `queue`, and parked keys by primary key.
    troubledKeys: (limit: number) => `
  select pending_key
    from ${events} force index (queue)
   where queue in (2, 3) and pending_key > ? and destination = ?
   union
  select name from ${control} where kind = ? and name > ?
   order by 1
   limit ${limit}`,

    // lanesOf: the first row of each key.
    headsOfKeys: (count: number) =>
      lanesOf(tables, {
        columns: storedColumns,
        condition: inLine,
        count,
        limit: 1,
        ofDestination: 'filtered',
      }),

    // ? key, ? destination, ? seq to start behind for each. By the index `pending_key`.
    waitingBehind: (count: number, most: number) =>
      Array.from(
        { length: count },
        (_, index) => `
  (select ${index}, count(*)
     from (select 1
             from ${events} as event force index (pending_key)
            where event.pending_key = ? and event.destination = ? and event.seq > ?
              and ${inLine}
            limit ${most}) as waiting)`,
      ).join(' union all '),

    // ? kind of park, the parameters of `keys`. By primary key.
    parkedKeys: (keys: string) => `select name from ${control} where kind = ? and name in (${keys})`,

    // ? key, ? destination. By the index `pending_key`.
    lockHead: `
  select ${storedColumns}
    from ${events} as event force index (pending_key)
   where event.pending_key = ? and event.destination = ?
     and ${inLine}
   order by event.seq
   limit 1
     for update`,

    // ? seq. By primary key, for a row that is locked. The fence rises: an owner that read it before must not
    // settle it now.
    retryNow: `
  update ${events} force index (primary)
     set blocked_at = null, available_at = ${wholeNow}, deliveries = deliveries + 1
   where seq = ?
     and (blocked_at is not null or available_at > ${now})
     and (locked_by is null or locked_until <= ${now})`,
  } as const
}
