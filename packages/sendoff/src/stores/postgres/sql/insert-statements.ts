import type { PostgresTables } from '../schema/postgres-tables.ts'

const columns = `
         event_id, destination, event_type, aggregate_type, aggregate_id, tenant_id, ordering_key, partition_no,
         payload, payload_bytes, content_type, headers, occurred_at, available_at, created_at, deliveries, locked_by,
         locked_until`

// The due time: epoch milliseconds, or if that is null, this many milliseconds from now.
function dueTime(at: string, inMs: string): string {
  return `coalesce(to_timestamp(${at} / 1000), ${timeAfter(inMs)})`
}

function timeAfter(ms: string): string {
  return `date_trunc('milliseconds', clock_timestamp() + ${ms} * interval '1 millisecond')`
}

const now = timeAfter('0')

// $1 to $18, one for each column but `created_at`, with two for the due time.
const singleRow = `
         $1, $2, $3, $4, $5, $6, $7, $8::smallint, $9::text::json, decode($10::text, 'base64'), $11, $12::text::json,
         to_timestamp($13::float8 / 1000), ${dueTime('$14::float8', '$15::float8')}, ${now}, $16::integer, $17,
         ${timeAfter('$18::float8')}`

// The columns of several rows, with two for the due time, and the idempotency key.
const givenColumns = [
  'event_id',
  'destination',
  'event_type',
  'aggregate_type',
  'aggregate_id',
  'tenant_id',
  'ordering_key',
  'partition_no',
  'payload',
  'payload_bytes',
  'content_type',
  'headers',
  'occurred_at',
  'due_at',
  'due_in_ms',
  'deliveries',
  'locked_by',
  'lease_ms',
  'key',
]
const eachColumn = (text: (name: string, place: number) => string) => givenColumns.map(text).join(', ')

const givenRow = `
         event_id, coalesce(destination, ''), event_type, aggregate_type, aggregate_id, tenant_id, ordering_key,
         partition_no::smallint, payload::json, decode(payload_bytes, 'base64'), content_type, headers::json,
         to_timestamp(occurred_at::float8 / 1000), ${dueTime('due_at::float8', 'due_in_ms::float8')}, ${now},
         deliveries::integer, locked_by, ${timeAfter('lease_ms::float8')}`

// $1 to $19, one for each of the columns: the value that all rows share, or a list of the values of all rows.
// $20 separates the values of a list, and $21 stands for null. A column that all rows share costs next to
// nothing. 1000 rows take 9 µs each in the server; as one JSON parameter they take 11, and four times as long
// to write.
const given = (more = '') => `(
    select ${eachColumn((name) => `coalesce(shared_${name}, each_${name}) as ${name}`)}, place
      from (
        select *, ${eachColumn((name) => `case when cardinality(${name}) = 1 then ${name}[1] end as shared_${name}`)}
          from (
            select ${eachColumn((name, place) => `string_to_array($${place + 1}::text, $20::text, $21::text) as ${name}`)}
                   ${more}
            offset 0
          ) as list
        offset 0
      ) as list,
      unnest(${eachColumn((name) => `list.${name}`)}) with ordinality as row (${eachColumn((name) => `each_${name}`)}, place)
  ) as given`

// The same with a signal: $22 channel and $23 text; without a channel there is none.
const givenWithSignal = given(
  ', case when $22::text is not null then pg_notify($22::text, $23::text) end as signal',
)

const unlessUsed = 'on conflict do nothing'

const signal = `case when $19::text is not null then pg_notify($19::text, $20::text)::text end`

// A row written under a savepoint has the number of the subtransaction, not of the whole transaction.
const isCertain = 'xmin = pg_current_xact_id()::xid'

/**
 * The statements that run in the caller's transaction, for a checked table name. They return text: the caller
 * may have set type parsers that we do not know.
 */
export function insertStatementsFor({ events, partitionBy, idempotency }: PostgresTables) {
  // In time partitions, an insert cannot return system columns of a row.
  const certain = partitionBy === undefined ? isCertain : 'null'

  const unusedKeys = `
     where key is null
        or exists (select from used where used.key = given.key and used.event_id = given.event_id)`

  return {
    // singleRow, $19 channel and $20 text of a signal; without a channel there is none. Adds and returns
    // nothing if the id was used before: an error would end the caller's transaction.
    insert: `${inserted(`values (${singleRow}) ${unlessUsed}`)}, ${signal}`,

    // givenWithSignal. Sorted, so that `seq` rises in the given order.
    insertMany: inserted(`select ${givenRow} from ${givenWithSignal} order by place ${unlessUsed}`),

    // The same for ids that were made just now. Searching the index for each first takes 2 µs of 23.
    insertNew: `${inserted(`values (${singleRow})`)}, ${signal}`,
    insertManyNew: inserted(`select ${givenRow} from ${givenWithSignal} order by place`),

    // given, $22 channel and $23 text of a signal, sent if a row is added. Keys are used in ascending order:
    // transactions that use the same keys wait for each other, and never in a circle. An event that fans out
    // is several rows with one key, written together. They are not duplicates of each other. Waits for a
    // transaction that has used a key and not ended yet. Rows missing from the result have a key or an id
    // that was used before. The result then has rows without a seq for the keys that were used here.
    insertKeyed: `
  with given as materialized (
    select * from ${given()}
  ), used as (
    insert into ${idempotency} (key, event_id, created_at)
    select distinct on (key) key, event_id, ${now}
      from given
     where key is not null
     order by key, place
        on conflict (key) do nothing
    returning key, event_id
  ), written as (
    insert into ${events} (${columns})
    select ${givenRow} from given ${unusedKeys} order by place ${unlessUsed}
    returning ${certain} as certain, seq, event_id, destination
  )
  select certain::text, seq::text, event_id, destination,
         (select pg_notify($22::text, $23::text) where $22::text is not null)::text
    from written
   union all
  select null, null, event_id, key, null
    from used
   where (select count(*) from written) < (select count(*) from given)`,

    // $1 event ids, $2 seqs, $3 idempotency keys. By primary key. Undoes what the caller's transaction has
    // just added, and returns which rows these were.
    undoInsert: `
  with forgotten as (
    delete from ${idempotency} where key = any ($3::text[])
  ), gone as (
    delete from ${events} where event_id = any ($1::text[]) and seq = any ($2::bigint[])
    returning event_id, destination
  )
  select event_id, destination from gone`,

    // $1 event id, $2 destination. By primary key. Asks only about the last row written: the result holds for
    // all others, too.
    certain: `select (${isCertain})::text from ${events} where event_id = $1 and destination = $2`,

    // $1 keys. By primary key. Returns which events used them.
    usedKeys: `select key, event_id from ${idempotency} where key = any ($1::text[])`,

    // No parameters. Fails outside a transaction. Inside, it takes no stronger lock than an insert does.
    assertTransaction: `lock table only ${events} in row exclusive mode`,
  } as const

  function inserted(rows: string): string {
    return `insert into ${events} (${columns})
  ${rows}
  returning (${certain})::text, seq::text`
  }
}
