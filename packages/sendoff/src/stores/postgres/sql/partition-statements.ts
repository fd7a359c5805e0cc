import { participantPrefix } from '../../../store/index.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'
import { pending, uncertain, wasOver } from './row-conditions.ts'

/** The statements about the owners of partitions, for checked names. */
export function partitionStatementsFor(tables: PostgresTables) {
  const { lock, partition } = tables
  const isOwner = 'name = $1 and token = $2 and until > clock_timestamp()'
  const isParticipant = `starts_with(name, '${participantPrefix}')`

  return {
    // $1 lock, $2 token. Reads both tables, which are small. Returns a row for each participant, with the
    // milliseconds that are left and no number, and one for each partition. Returns nothing without the lock.
    shares: `
  with owner as materialized (
    select 1 from ${lock} where ${isOwner}
  ), participant as materialized (
    select token, date_part('epoch', until - clock_timestamp()) * 1000 as left_ms
      from ${lock}
     where ${isParticipant} and exists (select from owner)
  )
  select null::smallint, token, null::bigint, left_ms
    from participant
   union all
  (select partition_no, case when owner in (select token from participant) then owner end, epoch, null
     from ${partition}
    where exists (select from owner)
    order by partition_no)`,

    // No parameters. Reads both tables, and returns the same for an operator. Leaves dead participants out.
    lookAtShares: `
  with participant as materialized (
    select token, date_part('epoch', until - clock_timestamp()) * 1000 as left_ms
      from ${lock}
     where ${isParticipant} and until > clock_timestamp()
  )
  select null::smallint, token, null::bigint, left_ms
    from participant
   union all
  (select partition_no, case when owner in (select token from participant) then owner end, epoch, null
     from ${partition}
    order by partition_no)`,

    // No parameters. Expires dead participants. Each row that they recorded as held counts a loss, by
    // <table>_written, if it is in one of their partitions.
    //
    // Skips participants with settlements under way, which lock the participant's row by KEY SHARE: the next
    // call gets them. A statement that waited would see rows as they were when it began, and would not count
    // what was read after that.
    endShares: `
  with over as materialized (
    select name from ${lock} where ${isParticipant} and ${wasOver()} for update skip locked
  ), vanished as (
    delete from ${lock} where name in (select name from over) returning token, held
  ), ${countedLosses(tables, 'vanished', true)}
  select 1`,

    // $1 lock, $2 token, $3 numbers. By primary key. A partition that was free when the statement began is
    // still free if its epoch is the same. A later check of its owner would not help: it would read the state
    // of the beginning, too. With SKIP LOCKED, two processes that want the same partition do not wait for
    // each other.
    acquirePartitions: `
  with free as materialized (
    select partition_no, epoch
      from ${partition}
     where partition_no = any ($3::smallint[])
       and exists (select from ${lock} where ${isOwner})
       and (owner is null or owner not in (select token from ${lock} where ${isParticipant}))
  ), locked as materialized (
    select partition_no
      from ${partition} as partition
      join free using (partition_no, epoch)
       for update of partition skip locked
  )
  update ${partition} as partition
     set owner = $2, epoch = epoch + 1
    from locked
   where partition.partition_no = locked.partition_no
  returning partition.partition_no, partition.epoch`,

    // $1 lock, $2 token, $3 numbers, $4 their epochs. By primary key. Waits for settlements that are under
    // way without their owner knowing, as after a lost connection. Otherwise the next owner would not see
    // them, and would deliver the rows again.
    releasePartitions: `
  with settled as materialized (
    select 1 from ${lock} where name = $1 and token = $2 for update
  )
  update ${partition} as part
     set owner = null
    from unnest($3::smallint[], $4::bigint[]) as given (partition_no, epoch)
   where part.partition_no = given.partition_no
     and part.epoch = given.epoch
     and part.owner = $2
     and (select count(*) from settled) >= 0`,

    // $1 lock, $2 token, $3 the rows as `heldText` has them. By primary key. Returns nothing
    // without the lock.
    holdRows: `update ${lock} set held = $3 from ${uncertain} where ${isOwner} returning 1`,
  } as const
}

/**
 * Counts a loss for the rows that these lock rows record as held, if they have not changed since. On request,
 * counts only rows in partitions of the process that had the lock.
 *
 * The statement expands runs through an array, for which PostgreSQL expects ten values. For a plain series it
 * expects a thousand, a hundred times for each lock. For that many, it would compile the statement, which
 * takes a tenth of a second.
 */
export function countedLosses(
  { events, partition }: PostgresTables,
  locks: string,
  inOwnPartitions = false,
): string {
  const isOwn = `exists (select
                       from ${partition} as part
                      where part.partition_no = coalesce(event.partition_no, event.seq % 256)
                        and part.owner = lost.token)`
  return `lost as materialized (
    select token, seq, (run ->> 1)::integer as deliveries
      from ${locks}
     cross join jsonb_array_elements(held::jsonb) as run
     cross join unnest(array(
       select generate_series((run ->> 0)::bigint, (run ->> 0)::bigint + (run ->> 2)::bigint - 1))) as seq
  ), counted_held as (
    update ${events} as event
       set losses = losses + 1, deliveries = event.deliveries + 1
      from lost
     where event.seq = any (array(select seq from lost))
       and event.seq = lost.seq
       and event.deliveries = lost.deliveries
       and ${pending}
       and locked_by is null
       and ${inOwnPartitions ? isOwn : 'true'}
  )`
}
