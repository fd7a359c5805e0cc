import { maxFailureText } from '../../../store/index.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'
import { inMs, storedColumns } from './row-columns.ts'
import { noneOf, now, pending, rows, unblocked } from './row-conditions.ts'

/**
 * Whether a row matches: $8 states, $9 event type, $10 destination, $11 aggregate type, $12 aggregate id, $13
 * tenant, $14 ordering key, $15 and $16 written from and before, $17 error class followed by a colon, $18
 * text, $19 highest seq, $20 latest change; null for any. PostgreSQL expects that nearly all rows match, and
 * so keeps to the order of the index.
 */
const lookMatching = noneOf([
  'not (event.status = any ($8::smallint[]))',
  '$9::text is not null and event.event_type <> $9',
  '$10::text is not null and event.destination <> $10',
  '$11::text is not null and event.aggregate_type <> $11',
  '$12::text is not null and event.aggregate_id is distinct from $12',
  '$13::text is not null and event.tenant_id is distinct from $13',
  '$14::text is not null and event.ordering_key is distinct from $14',
  '$15::float8 is not null and event.created_at < to_timestamp($15::float8 / 1000)',
  '$16::float8 is not null and event.created_at >= to_timestamp($16::float8 / 1000)',
  `$17::text is not null and not coalesce(starts_with(event.last_error || ':', $17), false)`,
  `$18::text is not null and coalesce(strpos(event.last_error, $18), 0) = 0
                 and coalesce(strpos(event.payload::text, $18), 0) = 0`,
  '$19::bigint is not null and event.seq > $19::bigint',
  `$20::float8 is not null
                 and coalesce(event.done_at, event.blocked_at, event.created_at) > to_timestamp($20::float8 / 1000)`,
])

interface Scope {
  readonly where: string
  readonly bySeq: boolean
  /** What a scan asks for besides. It is no part of the window, which would otherwise have no end. */
  readonly also?: string
}

/** The rows in <table>_attention, in the words of that index. */
const needsAttention = '(status = 3 or blocked_at is not null)'

/** The statements by which operators look at the table, for checked names. They only read. */
export function lookStatementsFor({ schema, table, events, control }: PostgresTables) {
  const scopes = {
    Pending: { where: pending, bySeq: true },
    Dead: { where: 'status = 3', bySeq: true },
    Blocked: {
      where: needsAttention,
      bySeq: true,
      also: noneOf(['blocked_at is null', 'status & 1 = 1']),
    },
    // $7 ordering key.
    Key: { where: 'status & 1 = 0 and ordering_key = $7', bySeq: true },
    // $1 and $2 the lowest and the highest id.
    All: { where: 'event_id >= $1 and event_id <= $2', bySeq: false },
  } as const satisfies Record<string, Scope>

  return {
    // No parameters. Until the end of the transaction.
    withoutCompiling: `select set_config('jit', 'off', true)`,

    // No parameters.
    database: 'select current_database()',

    // No parameters. The ends of <table>_written and <table>_attention, and the newest rows by primary key:
    // ids rise with time, and nearly as seq does.
    lookBound: `
  select ${inMs('clock_timestamp()')}, greatest(0,
         (select seq from ${events} where ${pending} order by seq desc limit ${rows('1')}),
         (select seq from ${events} where status = 3 order by seq desc limit ${rows('1')}),
         (select max(seq) from (select seq from ${events} order by event_id desc, destination desc limit 1000) as newest))`,

    // $1 rows. Groups the newest rows, and counts blocked ones among them. By <table>_written and
    // <table>_attention in their order, and all rows by primary key. Knowing the limit keeps PostgreSQL from
    // compiling the last one. tallyDead passes over blocked rows, however many there are: it is only for the
    // case that they leave no room for the dead ones in tallyAttention.
    tallyPending: tally(`where ${pending} order by seq desc limit ${rows('$1')}`),
    tallyAttention: tally(`where ${needsAttention} order by seq desc limit ${rows('$1')}`),
    tallyDead: tally(`where status = 3 order by seq desc limit ${rows('$1')}`),
    tallyAll: tally('order by event_id desc, destination desc limit $1::integer'),

    // No parameters. Estimates how many rows the table has, and how many entries <table>_written and
    // <table>_attention: by their sizes now, and the rows per page at the time of the last statistics. A time
    // partition has its own parts of each.
    estimates: `
  select kind, sum(pages * case when reltuples > 0 and relpages > 0 then reltuples / relpages else usual end)
    from (values ('all', '"${schema}"."${table}"', 15),
                 ('pending', '"${schema}"."${table}_written"', 250),
                 ('attention', '"${schema}"."${table}_attention"', 250)) as wanted (kind, name, usual)
   cross join lateral (select to_regclass(name) as id
                        union
                       select relid from pg_partition_tree(to_regclass(name))) as parts
    join pg_class on pg_class.oid = parts.id
   cross join lateral (select pg_relation_size(parts.id) / current_setting('block_size')::float8 as pages) as size
   group by kind`,

    // $1 limit. By primary key.
    parkedKeys: `select distinct name from ${control} where kind >= 'park' and kind < 'park0' order by name limit ${rows('$1')}`,

    // No parameters. The first row of <table>_due.
    oldestDue: `
  select event_id, destination, event_type, ${inMs('available_at')}
    from ${events}
   where ${unblocked} and available_at <= ${now}
   order by available_at, seq
   limit ${rows('1')}`,

    // $1 rows. The newest rows by <table>_attention. Texts of one error class that differ in digits alone are
    // one group: errors mostly name an order or a duration, and each row would be a group of its own. Ten
    // calls of replace() are faster than one translate(). The sample and its error are of one row.
    failures: `
  select event_type, destination, sample[2], count, ${inMs('first_at')}, ${inMs('last_at')}, sample[1]
    from (select event_type, destination, max(array[event_id, error]) as sample, count(*),
                 min(ended) as first_at, max(ended) as last_at
            from (select event_type, destination, left(coalesce(last_error, ''), ${maxFailureText}) collate "C" as error,
                         coalesce(done_at, created_at) as ended, event_id
                    from ${events}
                   where status = 3
                   order by seq desc
                   limit ${rows('$1')}) as newest
           group by event_type, destination, left(error, strpos(error, ':')), ${withoutDigits('error')}) as failed`,

    ...windows('Newest', '<', 'desc'),
    ...windows('Oldest', '>', 'asc'),
  } as const

  function tally(which: string): string {
    return `
  select status, event_type, destination, count(*), count(blocked_at) filter (where status <> 3)
    from (select status, event_type, destination, blocked_at from ${events} ${which}) as newest
   group by status, event_type, destination`
  }

  // $1 and $2 the ends of ids; $3 event id, $4 destination and $5 seq to start behind; $6 limit; $7 ordering
  // key. A window returns its last row. A scan has lookMatching, and $21 event id, $22 destination
  // and $23 seq to end at. By the index of its scope.
  function windows<Order extends 'Newest' | 'Oldest'>(order: Order, sign: '<' | '>', direction: string) {
    const entries = Object.entries(scopes).flatMap(([name, scope]) => [
      [`window${name}${order}`, windowOf(scope, sign, direction)],
      [`scan${name}${order}`, scanOf(scope, sign, direction)],
    ])
    return Object.fromEntries(entries) as Record<`${'window' | 'scan'}${keyof typeof scopes}${Order}`, string>
  }

  function windowOf(scope: Scope, sign: '<' | '>', direction: string): string {
    const { place, by, limited } = orderOf(scope, sign, direction)
    return `
  select seq, event_id, destination
    from (select seq, event_id, destination
            from ${events}
           where ${scope.where} and ${place} and ${unused}
           order by ${by}
           limit ${limited('$6')}) as seen
  offset ${limited('($6::integer - 1)')}`
  }

  function scanOf(scope: Scope, sign: '<' | '>', direction: string): string {
    const { place, by, end, limited } = orderOf(scope, sign, direction)
    return `
  select ${storedColumns('event')}
    from ${events} as event
   where ${scope.where} and ${place} and ${end} and ${unused} and ${unusedEnd}
     and ${lookMatching}${scope.also === undefined ? '' : ` and ${scope.also}`}
   order by ${by}
   limit ${limited('$6')}`
  }

  function orderOf({ bySeq }: Scope, sign: '<' | '>', direction: string) {
    const opposite = sign === '<' ? '>=' : '<='
    return bySeq
      ? {
          place: `seq ${sign} $5::bigint`,
          end: `seq ${opposite} $23::bigint`,
          by: `seq ${direction}`,
          limited: rows,
        }
      : {
          place: `(event_id, destination) ${sign} ($3, $4)`,
          end: `(event_id, destination) ${opposite} ($21, $22)`,
          by: `event_id ${direction}, destination ${direction}`,
          limited: (count: string) => (count.startsWith('(') ? count : `${count}::integer`),
        }
  }
}

function withoutDigits(text: string): string {
  return [...'0123456789'].reduce((shorter, digit) => `replace(${shorter}, '${digit}', '')`, text)
}

// PostgreSQL has to know the type of every parameter, also of those that an order does not use.
const unused = `coalesce($1::text, $2::text, $3::text, $4::text, $5::bigint::text, $7::text) is not null`

const unusedEnd = `coalesce($21::text, $22::text, $23::bigint::text) is not null`
