import type { MysqlTables } from '../schema/mysql-tables.ts'
import { inMs, rowColumns, storedColumns } from './row-columns.ts'
import { due, heldUp, inLine, now, pendingQueues, wholeNow } from './row-conditions.ts'

/**
 * The statements about rows in the order of their keys, for checked names. Keys are parameters of bytes: compared as text,
 * some would be the same but for spaces at their end.
 */
export function laneStatementsFor(tables: MysqlTables) {
  const { events, control } = tables

  // In microseconds, -1 for until a person decides.
  const wait = `case
           when event.blocked_at is not null then -1
           when ${heldUp(tables)} then -1
           else greatest(0, timestampdiff(microsecond, ${now}, event.available_at),
                         if(event.locked_by is null, 0, timestampdiff(microsecond, ${now}, event.locked_until)))
         end`
  // Without a name of its own it would have its text for one, of which the package mariadb cannot read so much.
  const orderedColumns = `${rowColumns}, ${wait} as wait_us`
  // One CASE for the same reason as `freeRow`.
  const ready = `event.blocked_at is null and event.available_at <= ${now}
              and (event.locked_by is null or event.locked_until <= ${now})
              and case when ${heldUp(tables)} then false else true end`

  return {
    // due. Reads the index `due` in its order, and of each row what tells whether it is wanted.
    dueKeys: (from: boolean, limit: number) => `
  select event.seq, ${inMs('event.due_at')}, event.event_id, event.ordering_key, event.partition_no
    from ${events} as event force index (due)
   where ${due({ from, skipRecent: false })}
     and (event.locked_by is null or event.locked_until <= ${now})
   order by event.due_at, event.seq
   limit ${limit}`,

    // ? key for each. The numbers by the index `pending_key` alone, for each key by itself, and then the rows by primary key. Rows
    // that were written for later come along, and say so at their end: to leave them out takes the server half as long
    // again, since the index does not tell.
    firstOfLanes: (count: number, perKey: number) =>
      lanes(`${orderedColumns}, ${inLine} as in_line`, count, 'true', perKey),

    // ? key for each. As firstOfLanes, without rows that were written for later, or with `skipWaiting` without all that have to wait.
    lanes: (count: number, perKey: number, skipWaiting: boolean) =>
      lanes(orderedColumns, count, skipWaiting ? ready : inLine, perKey),

    // No parameters. By primary key: rows that still wait for somebody.
    ordered: (rows: string) => `
  select ${orderedColumns}
    from ${events} as event force index (primary)
   where ${rows} and event.status in (0, 2)`,

    // ? seq to start behind, for each of the queues. Reads the index `queue` in its order, in each of the places where pending rows are.
    oneLane: (limit: number) => `${pendingQueues
      .map(
        (queue) => `
  (select ${orderedColumns}
     from ${events} as event force index (queue)
    where event.queue = ${queue} and event.seq > ?
      and ${inLine}
    order by event.seq
    limit ${limit})`,
      )
      .join(' union all ')}
   order by seq
   limit ${limit}`,

    // ? key to start behind, twice. Rows that failed or are blocked by the index `queue`, parked keys by primary key.
    troubledKeys: (limit: number) => `
  select pending_key
    from ${events} force index (queue)
   where queue in (2, 3) and pending_key > ?
   union
  select name from ${control} where kind = 'park' and name > ?
   order by 1
   limit ${limit}`,

    // ? key for each. As lanes: the first row of each key.
    headsOfKeys: (count: number) => lanes(storedColumns, count, inLine, 1),

    // ? key, ? seq to start behind for each. By the index `pending_key`.
    waitingBehind: (count: number, most: number) =>
      Array.from(
        { length: count },
        (_, index) => `
  (select ${index}, count(*)
     from (select 1
             from ${events} as event force index (pending_key)
            where event.pending_key = ? and event.seq > ?
              and ${inLine}
            limit ${most}) as waiting)`,
      ).join(' union all '),

    // The parameters of `keys`. By primary key.
    parkedKeys: (keys: string) => `select name from ${control} where kind = 'park' and name in (${keys})`,

    // ? key. By the index `pending_key`.
    lockHead: `
  select ${storedColumns}
    from ${events} as event force index (pending_key)
   where event.pending_key = ?
     and ${inLine}
   order by event.seq
   limit 1
     for update`,

    // ? seq. By primary key: a row that is locked. The fence rises: whoever read it before must not settle it now.
    retryNow: `
  update ${events} force index (primary)
     set blocked_at = null, available_at = ${wholeNow}, deliveries = deliveries + 1
   where seq = ?
     and (blocked_at is not null or available_at > ${now})
     and (locked_by is null or locked_until <= ${now})`,
  } as const

  function lanes(columns: string, count: number, condition: string, limit: number): string {
    const lane = `(select event.seq
             from ${events} as event force index (pending_key)
            where event.pending_key = ? and ${condition}
            order by event.seq
            limit ${limit})`
    return `
  select ${columns}
    from (${Array.from({ length: count }, () => lane).join(' union all ')}) as lane
    straight_join ${events} as event force index (primary) on event.seq = lane.seq`
  }
}
