import type { PostgresTables } from '../schema/postgres-tables.ts'
import { inMs } from './row-columns.ts'
import { rows, timeAgo, timeIn } from './row-conditions.ts'

const counts = 'done, failed, dead, deferred, hot, listener_ms, listener_buckets, delivery_buckets'

/** The statements about reports and statistics, for checked names. They need revision 2 of the schema. */
export function reportStatementsFor({ node, stat }: PostgresTables) {
  const replaced = counts
    .split(', ')
    .map((column) => `${column} = excluded.${column}`)
    .join(', ')

  return {
    // $1 id, $2 report, $3 statistics as a JSON array of objects. By primary keys. Returns whether the
    // process is registered, and the time.
    report: `
  with reported as (
    update ${node}
       set report = $2, reported_at = ${timeIn('0')}
     where id = $1 and until > clock_timestamp()
    returning 1
  ), counted as (
    insert into ${stat} (minute, node, event_type, destination, ${counts})
    select to_timestamp(minute / 1000), $1, event_type, destination, ${counts}
      from json_to_recordset($3::text::json)
           as given (minute float8, event_type text, destination text, done bigint, failed bigint, dead bigint,
                     deferred bigint, hot bigint, listener_ms float8, listener_buckets text, delivery_buckets text)
        on conflict (minute, node, event_type, destination) do update set ${replaced}
  )
  select exists (select from reported), ${inMs('clock_timestamp()')}`,

    // No parameters. Reads the table, which has a row for each process.
    livingNodes: `
  select id, mode, ${inMs('started_at')}, ${inMs('until')} - ${inMs('clock_timestamp()')}, report, ${inMs('reported_at')}
    from ${node}
   where until > clock_timestamp()
   order by id`,

    // $1 age in ms, $2 limit. By primary key, from its end.
    statistics: `
  select ${inMs('minute')}, node, event_type, destination, ${counts}
    from ${stat}
   where minute >= ${timeAgo('$1')}
   order by minute desc, node desc, event_type desc, destination desc
   limit ${rows('$2')}`,

    // $1 age in ms, $2 limit. By primary key, from its beginning.
    forgetStatistics: `
  with old as materialized (
    select minute, node, event_type, destination
      from ${stat}
     where minute < ${timeAgo('$1')}
     order by minute, node, event_type, destination
     limit ${rows('$2')}
       for update skip locked
  ), gone as (
    delete from ${stat} as stat
     using old
     where stat.minute = old.minute and stat.node = old.node
       and stat.event_type = old.event_type and stat.destination = old.destination
    returning 1
  )
  select count(*) from gone`,
  } as const
}
