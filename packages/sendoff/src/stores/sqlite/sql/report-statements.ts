import type { SqliteTables } from '../schema/sqlite-tables.ts'

/** The statements about reports and statistics. They need revision 2 of the schema. */
export function reportStatementsFor({ node, stat }: SqliteTables) {
  return {
    // ? report, ? now, ? id, ? now. By primary key.
    report: `update ${node} set report = ?, reported_at = ? where id = ? and until > ?`,

    // ? node, ? statistics as a JSON array of objects. By primary key.
    addStatistics: `
  insert or replace into ${stat} (
         minute, node, event_type, destination, done, failed, dead, deferred, hot, listener_ms, listener_buckets,
         delivery_buckets)
  select value ->> 'minute', ?, value ->> 'event_type', value ->> 'destination', value ->> 'done', value ->> 'failed',
         value ->> 'dead', value ->> 'deferred', value ->> 'hot', cast(value ->> 'listener_ms' as real),
         value ->> 'listener_buckets', value ->> 'delivery_buckets'
    from json_each(?)`,

    // ? now. Reads the table, which has a row for each process.
    livingNodes: `
  select id, mode, started_at as startedAt, until, report, reported_at as reportedAt
    from ${node}
   where until > ?
   order by id`,

    // ? first minute, ? limit. By primary key, from its end.
    statistics: `
  select minute, node, event_type as eventType, destination, done, failed, dead, deferred, hot,
         listener_ms as listenerMs, listener_buckets as listenerBuckets, delivery_buckets as deliveryBuckets
    from ${stat}
   where minute >= ?
   order by minute desc, node desc, event_type desc, destination desc
   limit ?`,

    // ? first minute to keep, ? limit. By primary key, from its beginning.
    forgetStatistics: `
  delete from ${stat}
   where (minute, node, event_type, destination) in (
         select minute, node, event_type, destination
           from ${stat}
          where minute < ?
          order by minute, node, event_type, destination
          limit ?)`,
  } as const
}
