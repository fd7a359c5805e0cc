import type { SqliteTables } from '../schema/sqlite-tables.ts'
import { storedColumns } from './row-columns.ts'
import { failedOfKey, inLine, pending } from './row-conditions.ts'

/** The statements by which operators decide about ordering keys. */
export function keyStatementsFor({ table, events, control }: SqliteTables) {
  return {
    // ? key to start behind, ? kind of park, ? key to start behind. Returns the next key with a failed or
    // blocked row, by <table>_failed alone, or the next parked key, by primary key, whichever comes first.
    nextTroubledKey: `
  select min(key) as key
    from (select min(ordering_key) as key
            from ${events} indexed by "${table}_failed"
           where ${failedOfKey} and ordering_key > ?
           union all
          select min(name) from ${control} where kind = ? and name > ?)`,

    // ? kind of park, ? key. By primary key.
    isParked: `select 1 from ${control} where kind = ? and name = ?`,

    // ? key, ? destination, inLine. Reads <table>_key up to the first row that fits.
    headOfKey: `
  select ${storedColumns}
    from ${events} indexed by "${table}_key"
   where ordering_key = ?
     and destination = ?
     and ${inLine}
   order by seq
   limit 1`,

    // ? key, ? destination, ? seq to start behind, inLine, ? limit. Reads <table>_key.
    waitingBehind: `
  select count(*) as count
    from (select 1
            from ${events} indexed by "${table}_key"
           where ordering_key = ?
             and destination = ?
             and seq > ?
             and ${inLine}
           limit ?)`,

    // ? now, ? seq. By primary key. The fence rises: a process that read the row before must not settle it
    // now.
    retryNow: `
  update ${events}
     set blocked_at = null, available_at = ?, deliveries = deliveries + 1
   where seq = ? and ${pending}`,
  } as const
}
