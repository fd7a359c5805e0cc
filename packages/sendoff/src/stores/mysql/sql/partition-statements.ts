import { participantPrefix } from '../../../store/index.ts'
import type { MysqlTables } from '../schema/mysql-tables.ts'
import { lockingRead } from './locking-read.ts'
import { now } from './row-conditions.ts'

// In the order of characters, all names that begin with the prefix are between the prefix and this text.
const participantEnd = participantPrefix.replace(/\/$/, '0')

/** The partition that a row belongs to. */
export const partitionOfRow = 'coalesce(partition_no, seq % 256)'

/** The statements about partitions and their participants, for checked names. */
export function partitionStatementsFor({ lock, partition }: MysqlTables) {
  return {
    // No parameters. Both by primary key, in one consistent read. Returns names and tokens of participants
    // with the microseconds that are left, and then partitions with their owners and epochs.
    shares: `
  select name, token, timestampdiff(microsecond, ${now}, \`until\`), null
    from ${lock} force index (primary)
   where name >= '${participantPrefix}' and name < '${participantEnd}'
   union all
  select null, owner, partition_no, epoch
    from ${partition}`,

    // ? name for each. By primary key, and in its order. Skips participants whose settlements have not ended:
    // the server may not know yet that their machine has vanished. Without `skipsLocked`, it waits for them.
    lapsedLocks: (names: string, skipsLocked: boolean) => `
  select name, held, token
    from ${lock} force index (primary)
   where name in (${names}) and \`until\` <= ${now}
   order by name
     for update${skipsLocked ? ' skip locked' : ''}`,

    // ? token. Reads the table, which has a row for each partition. Locks nothing.
    partitionsOf: `select partition_no from ${partition} where owner = ?`,

    // ? name for each. By primary key.
    endParts: (names: string, count: number) => `
  delete from ${lock} where name in (${names}) order by name limit ${count}`,

    // No parameters. By primary key. A partition is free if its owner no longer takes part. Skips partitions
    // that another process is taking now. Subqueries lock nothing.
    freePartitions: (numbers: string) =>
      lockingRead({
        columns: 'partition_no, epoch',
        table: `${partition} as part`,
        index: 'primary',
        key: 'partition_no',
        where: `partition_no in (${numbers})
     and case
           when owner is null then true
           when exists (select 1 from ${lock} where name = concat('${participantPrefix}', part.owner)) then false
           else true
         end`,
        order: 'partition_no',
      }),

    // ? token. By primary key, for partitions that freePartitions has locked.
    takePartitions: (numbers: string) => `
  update ${partition} force index (primary)
     set owner = ?, epoch = epoch + 1
   where partition_no in (${numbers})`,

    // ? token. By primary key.
    releasePartitions: (numbers: string, numbersWithEpochs: string) => `
  update ${partition} force index (primary)
     set owner = null
   where partition_no in (${numbers}) and (partition_no, epoch) in (${numbersWithEpochs}) and owner = ?`,

    // ? token. Reads the table, which has a row for each partition. Locks nothing. A process that takes a
    // partition over has to expire its owner first, and that waits for transactions that share the owner's
    // lock.
    ownedPartitions: (epochs: string) => `
  select partition_no, epoch from ${partition} where owner = ? and epoch in (${epochs})`,
  } as const
}
