import type { MysqlTables } from './mysql-tables.ts'
import { partitionOfRow } from './partition-statements.ts'
import { inMs, rowColumns, storedColumns } from './row-columns.ts'
import { due, freeRow, heldUp, inLine, now, pendingQueues, wholeNow } from './row-conditions.ts'

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
  const orderedColumns = `${rowColumns}, ${wait}`

  return {
    // due. Reads the index `due` in its order. Answers, of the rows that nobody has leased, those of the partitions,
    // and the last one of the window wherever it belongs.
    dueKeys: (from: boolean, partitions: string, window: number) => `
  select seq, ${inMs('due_at')}, event_id, ordering_key, place, part in (${partitions})
    from (select looked.*, row_number() over (order by due_at, seq) as place
            from (select event.seq, event.due_at, event.event_id, event.ordering_key, ${partitionOfRow} as part
                    from ${events} as event force index (due)
                   where ${due({ from, skipRecent: false })}
                     and (event.locked_by is null or event.locked_until <= ${now})
                   order by event.due_at, event.seq
                   limit ${window}) as looked) as placed
   where place = ${window} or part in (${partitions})
   order by place`,

    // ? key for each. The numbers by the index `pending_key` in its order, for each key by itself, and then the rows by primary key.
    lanes: (count: number, perKey: number, skipWaiting: boolean) => `
  select ${orderedColumns}
    from (${Array.from({ length: count }, () => laneOfKey(perKey, skipWaiting)).join(' union all ')}) as lane
    straight_join ${events} as event force index (primary) on event.seq = lane.seq`,

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
    headsOfKeys: (count: number) => `
  select ${storedColumns}
    from (${Array.from({ length: count }, () => laneOfKey(1, false)).join(' union all ')}) as lane
    straight_join ${events} as event force index (primary) on event.seq = lane.seq`,

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

  // ? key.
  function laneOfKey(limit: number, skipWaiting: boolean): string {
    const ready = skipWaiting
      ? `event.blocked_at is null and event.available_at <= ${now}
             and ${freeRow(tables, { skipRecent: false })} and not ${heldUp(tables)}`
      : inLine
    return `(select event.seq from ${events} as event force index (pending_key)
           where event.pending_key = ? and ${ready} order by event.seq limit ${limit})`
  }
}
