import { participantPrefix } from '../../../store/index.ts'
import type { SqliteTables } from '../schema/sqlite-tables.ts'
import { pending } from './row-conditions.ts'

// In byte order, all names that begin with the prefix are between the prefix and this text.
const participantEnd = participantPrefix.replace(/\/$/, '0')
const isParticipant = `name >= '${participantPrefix}' and name < '${participantEnd}'`

/** The statements about partitions and their participants. */
export function partitionStatementsFor({ events, lock, partition }: SqliteTables) {
  return {
    // No parameters. By primary key. Returns a row for each participant.
    participants: `select token, until from ${lock} where ${isParticipant}`,

    // No parameters. By primary key.
    partitions: `select partition_no as partition, owner, epoch from ${partition} order by partition_no`,

    // ? now. By primary key.
    endParts: `delete from ${lock} where ${isParticipant} and until <= ? returning token, held`,

    // ? pairs of seq and deliveries as JSON. By primary key. Counts only rows that are unchanged since an
    // owner held them.
    countLossesOfHeld: `
  update ${events}
     set losses = losses + 1, deliveries = deliveries + 1
    from json_each(?) as held
   where seq = json_extract(held.value, '$[0]')
     and deliveries = json_extract(held.value, '$[1]')
     and locked_by is null
     and ${pending}`,

    // ? pairs of seq and deliveries as JSON, ? token. The same for rows in partitions that their holder still
    // owns.
    countLossesOfOwned: `
  update ${events}
     set losses = losses + 1, deliveries = deliveries + 1
    from json_each(?) as held
   where seq = json_extract(held.value, '$[0]')
     and deliveries = json_extract(held.value, '$[1]')
     and locked_by is null
     and ${pending}
     and exists (select 1
                   from ${partition} as part
                  where part.partition_no = coalesce(${events}.partition_no, seq % 256)
                    and part.owner = ?)`,

    // ? token, ? partitions as a JSON array. By primary key. A partition is free if its owner no longer takes
    // part.
    takePartitions: `
  update ${partition}
     set owner = ?, epoch = epoch + 1
   where partition_no in (select value from json_each(?))
     and (owner is null
          or not exists (select 1 from ${lock} where name = '${participantPrefix}' || owner))
  returning partition_no as partition, epoch`,

    // ? pairs of number and epoch as JSON, ? token. By primary key.
    releasePartitions: `
  update ${partition} as part
     set owner = null
    from json_each(?) as given
   where part.partition_no = json_extract(given.value, '$[0]')
     and part.epoch = json_extract(given.value, '$[1]')
     and part.owner = ?`,

    // ? seq, ? token, ? epoch. Reads both tables by primary key.
    isInOwnedPartition: `
  select 1
    from ${events} as event
    join ${partition} as part on part.partition_no = coalesce(event.partition_no, event.seq % 256)
   where event.seq = ? and part.owner = ? and part.epoch = ?`,

    // ? held, ? name, ? token, ? now. By primary key.
    hold: `update ${lock} set held = ? where name = ? and token = ? and until > ?`,
  } as const
}
