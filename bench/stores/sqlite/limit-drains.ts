import type { SqliteHandle, SqliteStatement } from 'sendoff/sqlite'
import type { Subject } from '../../store-bench.ts'
import { measureDrain } from '../../suites/drain.ts'
import { openSqlite } from './sqlite-database.ts'

const batchSize = 500
const leaseMs = 30_000

/**
 * Drains written by hand on the same table: batches of 500, a listener called for each row, nothing
 * else. No retries, no fences, no queues, no time limits.
 */
export const limitDrains: readonly Subject[] = [
  limitDrain('limit-claim-update', { claims: true, settleSql: doneSql() }),
  limitDrain('limit-claim-delete', { claims: true, settleSql: 'delete from outbox_event where seq = ?' }),
  limitDrain('limit-owner-update', { claims: false, settleSql: doneSql() }),
]

interface LimitDrain {
  /** Whether rows are leased before they are handled; an owner needs no leases. */
  readonly claims: boolean
  /** ? seq. By primary key, for each row of a batch in one transaction. */
  readonly settleSql: string
}

function limitDrain(name: string, drain: LimitDrain): Subject {
  return {
    name,
    measure: (conditions) =>
      measureDrain(openSqlite, conditions, async (database, count) => {
        const handle = database.openHandle()
        try {
          return await timeDrain(handle, drain, count)
        } finally {
          handle.close()
        }
      }),
  }
}

/** The milliseconds until `count` rows are handled and settled. */
async function timeDrain(
  handle: SqliteHandle,
  { claims, settleSql }: LimitDrain,
  count: number,
): Promise<number> {
  const begin = handle.prepare('begin immediate')
  const commit = handle.prepare('commit')
  const due = answeringArrays(handle.prepare(dueSql))
  const lease = handle.prepare(leaseSql)
  const settle = handle.prepare(settleSql)
  let handled = 0
  const listener = async (_row: unknown) => {
    handled++
  }

  const startedAt = performance.now()
  while (handled < count) {
    const now = Date.now()
    if (claims) begin.run()
    const rows = due.all(now, now, batchSize) as [seq: number, ...unknown[]][]
    if (claims) {
      lease.run('limit', now + leaseMs, JSON.stringify(rows.map(([seq]) => seq)))
      commit.run()
    }

    for (const row of rows) await listener(row)

    begin.run()
    for (const [seq] of rows) settle.run(seq)
    commit.run()
  }
  return performance.now() - startedAt
}

// ? now, ? now, ? limit. By outbox_event_due, in its order.
const dueSql = `
  select seq, event_id, event_type, aggregate_id, payload
    from outbox_event
   where status in (0, 2)
     and blocked_at is null
     and available_at <= ?
     and (locked_by is null or locked_until <= ?)
   order by available_at, seq
   limit ?`

// ? holder, ? lease end, ? seqs as a JSON array. By primary key.
const leaseSql = `
  update outbox_event
     set locked_by = ?, locked_until = ?, deliveries = deliveries + 1
   where seq in (select value from json_each(?))`

// ? seq. By primary key.
function doneSql(): string {
  return `
  update outbox_event
     set status = 1, done_at = unixepoch() * 1000, locked_by = null, locked_until = null
   where seq = ?`
}

/** The faster form of answers in both drivers. */
function answeringArrays(statement: SqliteStatement): SqliteStatement {
  const settings = statement as { setReturnArrays?(on: boolean): void; raw?(on: boolean): void }
  settings.setReturnArrays?.(true)
  settings.raw?.(true)
  return statement
}
