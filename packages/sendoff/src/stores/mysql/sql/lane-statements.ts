import type { MysqlTables } from '../schema/mysql-tables.ts'
import { inMs, rowColumns } from './row-columns.ts'
import type { DueOptions } from './row-conditions.ts'
import { due, dueIndex, heldUp, inLine, now, pendingQueues } from './row-conditions.ts'

/** Which rows of lanes to read. */
export interface LaneRows {
  readonly columns: string
  readonly condition: string
  /** How many lanes. */
  readonly count: number
  /** How many rows of each. */
  readonly limit: number
  /** Whether only rows for one destination are read, and by which index. */
  readonly ofDestination: LaneDestination
}

/** Whether lanes are those of one destination, and whether the index `lane` leads to them. */
export type LaneDestination = 'any' | 'filtered' | 'indexed'

/**
 * The statements about rows in the order of their keys, for checked names. Keys are parameters of bytes: as
 * text, keys that differ only in trailing spaces would be equal.
 */
export function laneStatementsFor(tables: MysqlTables) {
  const { events, lock } = tables

  // In microseconds; -1 if an operator has to decide.
  const wait = `case
           when event.blocked_at is not null then -1
           when ${heldUp(tables)} then -1
           else greatest(0, timestampdiff(microsecond, ${now}, event.available_at),
                         if(event.locked_by is null, 0, timestampdiff(microsecond, ${now}, event.locked_until)))
         end`
  // Without a name, the column would be named by its text, which is too long for the package mariadb.
  const orderedColumns = `${rowColumns}, ${wait} as wait_us`
  // One CASE for the same reason as `freeRow`.
  const ready = `event.blocked_at is null and event.available_at <= ${now}
              and (event.locked_by is null or event.locked_until <= ${now})
              and case when ${heldUp(tables)} then false else true end`

  return {
    // due. Reads the index `due` or `destination` in its order, and for each row the columns that
    // decide whether it is wanted.
    dueKeys: (options: DueOptions, limit: number) => `
  select event.seq, ${inMs('event.due_at')}, event.event_id, event.ordering_key, event.partition_no,
         event.destination
    from ${events} as event force index (${dueIndex(options)})
   where ${due(options)}
     and (event.locked_by is null or event.locked_until <= ${now})
   order by event.due_at, event.seq
   limit ${limit}`,

    // lanesOf. Includes rows that were written for later, and marks them in the last column. Leaving them out
    // would take the server half as long again, since the index does not show them.
    firstOfLanes: (count: number, perKey: number, ofDestination: LaneDestination) =>
      lanesOf(tables, {
        ofDestination,
        columns: `${orderedColumns}, ${inLine} as in_line`,
        condition: 'true',
        count,
        limit: perKey,
      }),

    // lanesOf. As firstOfLanes, without rows that were written for later. With `skipWaiting`, without all
    // rows that have to wait.
    lanes: (count: number, perKey: number, ofDestination: LaneDestination, skipWaiting: boolean) =>
      lanesOf(tables, {
        ofDestination,
        columns: orderedColumns,
        condition: skipWaiting ? ready : inLine,
        count,
        limit: perKey,
      }),

    // No parameters. By primary key. Rows that are still pending.
    ordered: (rows: string) => `
  select ${orderedColumns}
    from ${events} as event force index (primary)
   where ${rows} and event.status in (0, 2)`,

    // ? seq to start behind, for each of the queues. Reads the index `queue` in its order, in each of the
    // places with pending rows.
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

    // ? held, ? name, ? token. By primary key.
    hold: `update ${lock} set held = ? where name = ? and token = ? and \`until\` > ${now}`,
  } as const
}

/**
 * Reads the first rows of `count` lanes, with ? key for each, and perhaps ? destination. Finds the numbers
 * of the rows by the index `pending_key` or `lane` alone, key by key, and then the rows by primary key.
 */
export function lanesOf(
  { events }: MysqlTables,
  { columns, condition, count, limit, ofDestination }: LaneRows,
): string {
  const lane = `(select event.seq
             from ${events} as event force index (${ofDestination === 'indexed' ? 'lane' : 'pending_key'})
            where event.pending_key = ?${ofDestination === 'any' ? '' : ' and event.destination = ?'} and ${condition}
            order by event.seq
            limit ${limit})`
  return `
  select ${columns}
    from (${Array.from({ length: count }, () => lane).join(' union all ')}) as lane
    straight_join ${events} as event force index (primary) on event.seq = lane.seq`
}
