import type { SqliteTables } from '../schema/sqlite-tables.ts'
import { rowColumns } from './row-columns.ts'
import { inLine, ownWaitMs, unblocked, waitMs } from './row-conditions.ts'

/** The statements about rows in the order of their keys. */
export function laneStatementsFor(tables: SqliteTables) {
  const { table, events, control } = tables
  const orderedColumns = `${rowColumns}, ${waitMs(tables)} as wait_ms`

  return {
    // ? available_at and ? seq to start at, ? now, ? now, ? limit. Reads <table>_due in its order, and
    // the first columns of its rows.
    dueKeys: dueKeys('due'),

    // As dueKeys, with ? destination first. Reads <table>_destination in its order.
    dueKeysOf: dueKeys('destination', 'destination = ? and '),

    // No parameters. By primary key: whether anything is paused or parked, for any destination.
    anyControl: `select 1 from ${control} where kind >= 'park' and kind < 'q' limit 1`,

    // ownWaitMs, ? key, inLine, ? 1 to include rows that have to wait, ? limit. Reads <table>_key in its
    // order.
    lane: lane(ownWaitMs),

    // As lane, with ? destination after the key.
    laneTo: lane(ownWaitMs, ofDestination),

    // As laneTo. Reads <table>_lane in its order, and so no row of other destinations.
    laneOf: lane(ownWaitMs, ofDestination, 'lane'),

    // As lane, for when something is paused or parked.
    controlledLane: lane(waitMs(tables)),
    controlledLaneTo: lane(waitMs(tables), ofDestination),
    controlledLaneOf: lane(waitMs(tables), ofDestination, 'lane'),

    // waitMs, ? seqs as a JSON array. By primary key.
    ordered: `
  select ${orderedColumns}
    from ${events}
   where seq in (select value from json_each(?))`,

    // waitMs, ? seq to start behind, inLine, ? limit. Reads <table>_pending in its order. Without the hint,
    // SQLite would follow the primary key through every DONE row.
    oneLane: `
  select ${orderedColumns}
    from ${events} indexed by "${table}_pending"
   where seq > ?
     and ${inLine}
   order by seq
   limit ?`,
  } as const

  function dueKeys(index: string, destination = ''): string {
    return `
  select seq, available_at, event_id, ordering_key, partition_no, destination
    from ${events} indexed by "${table}_${index}"
   where ${destination}${unblocked}
     and (available_at, seq) >= (?, ?)
     and available_at <= ?
     and (locked_by is null or locked_until <= ?)
   order by available_at, seq
   limit ?`
  }

  // If a limit is a bare parameter, SQLite takes its value as a hint for its plan. It then plans again
  // whenever a value is bound: 70 µs for each key instead of 15.
  function lane(wait: string, destination = '', index = 'key'): string {
    return `
  select ${rowColumns}, ${wait} as wait_ms
    from ${events} indexed by "${table}_${index}"
   where ordering_key = ? ${destination}
     and ${inLine}
     and (? or wait_ms = 0)
   order by seq
   limit 0 + ?`
  }
}

const ofDestination = 'and destination = ?'
