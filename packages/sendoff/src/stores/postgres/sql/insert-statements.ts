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

// The same out of a JSON array.
const givenRow = `
         fields ->> 0, fields ->> 1, fields ->> 2, fields ->> 3, fields ->> 4, fields ->> 5, fields ->> 6,
         (fields ->> 7)::smallint, (fields ->> 8)::json, decode(fields ->> 9, 'base64'), fields ->> 10,
         (fields ->> 11)::json, to_timestamp((fields ->> 12)::float8 / 1000),
         ${dueTime('(fields ->> 13)::float8', '(fields ->> 14)::float8')}, ${now}, (fields ->> 15)::integer,
         fields ->> 16, ${timeAfter('(fields ->> 17)::float8')}`

const unlessUsed = 'on conflict do nothing'

// A row written under a savepoint has the number of the subtransaction, not of the whole transaction.
const isCertain = 'xmin = pg_current_xact_id()::xid'

/**
 * The statements that run in the caller's transaction, for a checked table name. They return text: the caller
 * may have set type parsers that we do not know.
 */
export function insertStatementsFor({ events, partitionBy, idempotency, channel }: PostgresTables) {
  // In time partitions, an insert cannot return system columns of a row.
  const certain = partitionBy === undefined ? isCertain : 'null'

  // $1 rows as a JSON array of arrays. Sorted, so that `seq` rises in the given order. As one JSON parameter,
  // 1000 rows take 23 µs each in server and client together; json_to_recordset takes 27, jsonb_to_recordset
  // 31, and unnest of arrays 31.
  const given = `jsonb_array_elements($1::text::jsonb) with ordinality as given (fields, place)`

  // Keys are used in ascending order: transactions that use the same keys wait for each other, and never in a
  // circle. An event that fans out is several rows with one key, written together. They are not duplicates of
  // each other.
  const withKeys = `
  with given as materialized (
    select fields, place, fields ->> 18 as key
      from ${given}
  ), used as (
    insert into ${idempotency} (key, event_id, created_at)
    select distinct on (key) key, fields ->> 0, ${now}
      from given
     where key is not null
     order by key, place
        on conflict (key) do nothing
    returning key, event_id
  )`
  // One signal for all rows, with their partitions unless some rows have none. No signal if no other process
  // could take one of the rows now.
  const signal = `,
         (select pg_notify('${channel}', case count(partition_no) when count(*) then string_agg(distinct partition_no::text, ',') else '' end)
            from written
           where locked_by is null and available_at <= clock_timestamp()
          having count(*) > 0)::text`

  const unusedKeys = `
     where key is null
        or exists (select from used where used.key = given.key and used.event_id = given.fields ->> 0)`

  return {
    // singleRow. Adds and returns nothing if the id was used before: an error would end the caller's
    // transaction.
    insert: inserted(`values (${singleRow}) ${unlessUsed}`),
    insertAnnounced: announced(`values (${singleRow}) ${unlessUsed}`),

    // given.
    insertMany: inserted(`select ${givenRow} from ${given} order by place ${unlessUsed}`),
    insertManyAnnounced: announced(`select ${givenRow} from ${given} order by place ${unlessUsed}`),

    // The same for ids that were made just now. Searching the index for each first takes 2 µs of 23.
    insertNew: inserted(`values (${singleRow})`),
    insertNewAnnounced: announced(`values (${singleRow})`),
    insertManyNew: inserted(`select ${givenRow} from ${given} order by place`),
    insertManyNewAnnounced: announced(`select ${givenRow} from ${given} order by place`),

    // given, with idempotency keys as one more field. Waits for a transaction that has used a key and not
    // ended yet. Rows missing from the result have a key or an id that was used before. The result then has
    // rows without a seq for the keys that were used here.
    insertKeyed: keyed(''),
    insertKeyedAnnounced: keyed(signal),

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

  function announced(rows: string): string {
    return `with ${written(rows)}
  select certain::text, seq::text ${signal}
    from written`
  }

  function keyed(signalOrNot: string): string {
    return `${withKeys}, ${written(`select ${givenRow} from given ${unusedKeys} order by place ${unlessUsed}`)}
  select certain::text, seq::text, event_id, destination ${signalOrNot}
    from written
   union all
  select null, null, event_id, key ${signalOrNot === '' ? '' : ', null'}
    from used
   where (select count(*) from written) < (select count(*) from given)`
  }

  function written(rows: string): string {
    return `written as (
    insert into ${events} (${columns})
    ${rows}
    returning ${certain} as certain, seq, event_id, destination, partition_no, available_at, locked_by
  )`
  }
}
