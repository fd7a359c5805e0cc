import { maxFailureText } from '../../../store/index.ts'
import type { SqliteTables } from '../schema/sqlite-tables.ts'
import { storedColumns } from './row-columns.ts'
import { pending, unblocked } from './row-conditions.ts'

// ? status mask, ? 1 for blocked rows only, or null; then each twice, null for any: ? event type,
// ? destination, ? aggregate type, ? aggregate id, ? tenant, ? ordering key, ? written at or after,
// ? written before, ? error class followed by a colon, ? text in the error; ? the same text in the payload;
// ? highest seq, ? latest change.
const lookMatching = `
     ((1 << status) & ?) <> 0
     and (? is null or blocked_at is not null and ${pending})
     and (? is null or event_type = ?)
     and (? is null or destination = ?)
     and (? is null or aggregate_type = ?)
     and (? is null or aggregate_id = ?)
     and (? is null or tenant_id = ?)
     and (? is null or ordering_key = ?)
     and (? is null or created_at >= ?)
     and (? is null or created_at < ?)
     and (? is null or instr(last_error || ':', ?) = 1)
     and (? is null or coalesce(instr(last_error, ?), 0) > 0 or typeof(payload) = 'text' and instr(payload, ?) > 0)
     and seq <= ?
     and coalesce(done_at, blocked_at, created_at) <= ?`

/** The statements by which operators look at the table. They only read. */
export function lookStatementsFor({ table, events, control }: SqliteTables) {
  const scopes = {
    Pending: { from: `${events} indexed by "${table}_pending"`, where: pending },
    Dead: { from: `${events} indexed by "${table}_dead"`, where: 'status = 3' },
    // ? ordering key.
    Key: { from: `${events} indexed by "${table}_key"`, where: `${pending} and ordering_key = ?` },
  }

  return {
    // No parameters. By primary key, from both ends of the table.
    seqRange: `
  select coalesce((select seq from ${events} order by seq desc limit 1), 0) as highest,
         coalesce((select seq from ${events} order by seq limit 1), 1) as lowest`,

    // No parameters. Each reads one index, and no row.
    countAllPending: `select count(*) as count from ${events} indexed by "${table}_pending" where ${pending}`,
    countUnblocked: `select count(*) as count from ${events} indexed by "${table}_due" where ${unblocked}`,
    countAllDead: `select count(*) as count from ${events} indexed by "${table}_dead" where status = 3`,

    // ? rows. Groups the newest rows. By <table>_pending and <table>_dead, and all rows by primary key.
    tallyPending: tally(scopes.Pending),
    tallyDead: tally(scopes.Dead),
    tallyAll: tally({ from: events, where: 'true' }),

    // ? limit. By primary key.
    parkedKeys: `select distinct name from ${control} where kind >= 'park' and kind < 'park0' order by name limit ?`,

    // ? now. The first row of <table>_due.
    oldestDue: `
  select event_id as eventId, destination, event_type as eventType, available_at as availableAt
    from ${events} indexed by "${table}_due"
   where ${unblocked} and available_at <= ?
   order by available_at, seq
   limit 1`,

    // ? rows. The newest rows by <table>_dead.
    failures: `
  select event_type as eventType, destination, error, count(*) as count, min(ended) as firstAt,
         max(ended) as lastAt, min(event_id) as sample
    from (select event_type, destination, substr(coalesce(last_error, ''), 1, ${maxFailureText}) as error,
                 coalesce(done_at, created_at) as ended, event_id
            from ${events} indexed by "${table}_dead"
           where status = 3
           order by seq desc
           limit ?)
   group by event_type, destination, error`,

    // ? seq to start behind, ? rows - 1. Returns the last row of a window, by the index of its scope.
    windowPendingNewest: windowBySeq(scopes.Pending, '<', 'desc'),
    windowPendingOldest: windowBySeq(scopes.Pending, '>', 'asc'),
    windowDeadNewest: windowBySeq(scopes.Dead, '<', 'desc'),
    windowDeadOldest: windowBySeq(scopes.Dead, '>', 'asc'),
    windowKeyNewest: windowBySeq(scopes.Key, '<', 'desc'),
    windowKeyOldest: windowBySeq(scopes.Key, '>', 'asc'),

    // ? seq to start behind, ? seq to end at, lookMatching, ? limit. By the index of the scope.
    scanPendingNewest: scanBySeq(scopes.Pending, '<', 'desc'),
    scanPendingOldest: scanBySeq(scopes.Pending, '>', 'asc'),
    scanDeadNewest: scanBySeq(scopes.Dead, '<', 'desc'),
    scanDeadOldest: scanBySeq(scopes.Dead, '>', 'asc'),
    scanKeyNewest: scanBySeq(scopes.Key, '<', 'desc'),
    scanKeyOldest: scanBySeq(scopes.Key, '>', 'asc'),

    // ? lowest and ? highest id, ? event id and ? destination to start behind, ? rows - 1. By the unique
    // index.
    windowAllNewest: windowById('<', 'desc'),
    windowAllOldest: windowById('>', 'asc'),

    // ? lowest and ? highest id, ? event id and ? destination to start behind, ? event id and ? destination
    // to end at, lookMatching, ? limit. By the unique index.
    scanAllNewest: scanById('<', 'desc'),
    scanAllOldest: scanById('>', 'asc'),
  } as const

  function tally({ from, where }: { from: string; where: string }): string {
    return `
  select status, event_type as eventType, destination, count(*) as count
    from (select status, event_type, destination from ${from} where ${where} order by seq desc limit ?)
   group by status, event_type, destination`
  }

  function windowBySeq(
    { from, where }: { from: string; where: string },
    sign: string,
    order: string,
  ): string {
    return `
  select seq, event_id as eventId, destination
    from ${from}
   where ${where} and seq ${sign} ?
   order by seq ${order}
   limit 1 offset ?`
  }

  function scanBySeq({ from, where }: { from: string; where: string }, sign: string, order: string): string {
    return `
  select ${storedColumns}
    from ${from}
   where ${where} and seq ${sign} ? and seq ${opposite(sign)} ? and ${lookMatching}
   order by seq ${order}
   limit ?`
  }

  function windowById(sign: string, order: string): string {
    return `
  select seq, event_id as eventId, destination
    from ${events}
   where event_id >= ? and event_id <= ? and (event_id, destination) ${sign} (?, ?)
   order by event_id ${order}, destination ${order}
   limit 1 offset ?`
  }

  function scanById(sign: string, order: string): string {
    return `
  select ${storedColumns}
    from ${events}
   where event_id >= ? and event_id <= ?
     and (event_id, destination) ${sign} (?, ?) and (event_id, destination) ${opposite(sign)} (?, ?)
     and ${lookMatching}
   order by event_id ${order}, destination ${order}
   limit ?`
  }
}

function opposite(sign: string): string {
  return sign === '<' ? '>=' : '<='
}
