import { failedOfKey, inLine, ownWaitMs, pending, unblocked, waitMs } from './row-conditions.ts'
import { rowColumns, storedColumns } from './row-columns.ts'

/** The statements about rows in the order of their keys, for a checked table name. */
export function laneStatementsFor(table: string) {
  const events = `"${table}"`
  const orderedColumns = `${rowColumns}, ${waitMs(table)} as wait_ms`

  return {
    // Around statements that only read: they see the same state, and take the lock of readers once.
    beginRead: 'begin',

    // ? available_at and ? seq to start at, ? now, ? now, ? limit. Reads <table>_due in its order, and
    // the first columns of its rows.
    dueKeys: `
  select seq, available_at, event_id, ordering_key, partition_no
    from ${events} indexed by "${table}_due"
   where ${unblocked}
     and (available_at, seq) >= (?, ?)
     and available_at <= ?
     and (locked_by is null or locked_until <= ?)
   order by available_at, seq
   limit ?`,

    // No parameters. By primary key: whether anything is paused or parked.
    anyControl: `select 1 from "${table}_control" where kind in ('park', 'pauseType', 'pauseDestination') limit 1`,

    // ownWaitMs, ? key, inLine, ? 1 for rows that have to wait as well, ? limit. Reads <table>_key in its order.
    lane: lane(ownWaitMs),

    // As lane, where something is paused or parked.
    controlledLane: lane(waitMs(table)),

    // waitMs, ? seqs as a JSON array. By primary key.
    ordered: `
  select ${orderedColumns}
    from ${events}
   where seq in (select value from json_each(?))`,

    // waitMs, ? seq to start behind, inLine, ? limit. Reads <table>_pending in its order; left to itself SQLite would follow the
    // primary key through every DONE row.
    oneLane: `
  select ${orderedColumns}
    from ${events} indexed by "${table}_pending"
   where seq > ?
     and ${inLine}
   order by seq
   limit ?`,

    // ? key to start behind, twice. The next key with a failed or blocked row by <table>_failed alone, or
    // the next one that is parked by primary key, whichever comes first.
    nextTroubledKey: `
  select min(key) as key
    from (select min(ordering_key) as key
            from ${events} indexed by "${table}_failed"
           where ${failedOfKey} and ordering_key > ?
           union all
          select min(name) from "${table}_control" where kind = 'park' and name > ?)`,

    // ? key. By primary key.
    isParked: `select 1 from "${table}_control" where kind = 'park' and name = ?`,

    // ? key, inLine. Reads <table>_key up to the first row that fits.
    headOfKey: `
  select ${storedColumns}
    from ${events} indexed by "${table}_key"
   where ordering_key = ?
     and ${inLine}
   order by seq
   limit 1`,

    // ? key, ? seq to start behind, inLine, ? limit. Reads <table>_key.
    waitingBehind: `
  select count(*) as count
    from (select 1
            from ${events} indexed by "${table}_key"
           where ordering_key = ?
             and seq > ?
             and ${inLine}
           limit ?)`,

    // ? now, ? seq. By primary key. The fence rises: whoever read the row before must not settle it now.
    retryNow: `
  update ${events}
     set blocked_at = null, available_at = ?, deliveries = deliveries + 1
   where seq = ? and ${pending}`,
  } as const

  // SQLite takes a limit that is nothing but a parameter as a hint for its plan, and plans anew whenever one is bound:
  // 70 µs for each key instead of 15.
  function lane(wait: string): string {
    return `
  select ${rowColumns}, ${wait} as wait_ms
    from ${events} indexed by "${table}_key"
   where ordering_key = ?
     and ${inLine}
     and (? or wait_ms = 0)
   order by seq
   limit 0 + ?`
  }
}
