import type { SqliteHandle, SqliteStatement } from 'sendoff/sqlite'
import { payloadOf } from '../../bench-event.ts'
import type { OnEvent, Subject } from '../../store-bench.ts'
import { drainSubject, sendoffBacklog } from '../../suites/drain.ts'
import { openHandle, sqliteDatabases } from './sqlite-database.ts'

const batchSize = 500
const leaseMs = 30_000

/**
 * Drains written by hand on the same table: batches of 500, a listener called for each row, nothing else. No
 * retries, no fences, no queues, no time limits.
 */
export const limitDrains: readonly Subject[] = [
  limitDrain('limit-claim-update', { claims: true, settle: 'update' }),
  limitDrain('limit-claim-delete', { claims: true, settle: 'delete' }),
  limitDrain('limit-owner-update', { claims: false, settle: 'update' }),
]

interface LimitDrain {
  /** Whether rows are leased before they are handled. An owner needs no leases. */
  readonly claims: boolean
  /** Whether handled rows are kept as DONE or removed. */
  readonly settle: 'update' | 'delete'
}

function limitDrain(name: string, drain: LimitDrain): Subject {
  return drainSubject({
    name,
    backlog: sendoffBacklog(sqliteDatabases()),
    singleProcess: true,
    async worker(database, conditions, onEvent) {
      const handle = openHandle(database, conditions)
      await emptyTable(handle, drain, onEvent)
      return { stop: async () => void handle.close() }
    },
  })
}

/** Resolves when all rows are handled and settled. */
async function emptyTable(
  handle: SqliteHandle,
  { claims, settle }: LimitDrain,
  onEvent: OnEvent,
): Promise<void> {
  const begin = handle.prepare('begin immediate')
  const commit = handle.prepare('commit')
  const due = answeringArrays(handle.prepare(dueSql))
  const lease = handle.prepare(leaseSql)
  const settleBatch = handle.prepare(settleSql[settle])
  const listener: (row: unknown) => Promise<void> = async () => onEvent(unread)

  for (;;) {
    const now = Date.now()
    if (claims) begin.run()
    const rows = due.all(now, now, batchSize) as [seq: number, ...unknown[]][]
    const seqs = JSON.stringify(rows.map(([seq]) => seq))
    if (claims) {
      lease.run('limit', now + leaseMs, seqs)
      commit.run()
    }
    if (rows.length === 0) return

    for (const row of rows) await listener(row)

    settleBatch.run(seqs)
  }
}

// A drain does not read the payloads.
const unread = { payload: payloadOf(0) }

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

// ? seqs as a JSON array. By primary key: no slower than a statement for each row, in both drivers.
const settleSql = {
  update: `
  update outbox_event
     set status = 1, done_at = unixepoch() * 1000, locked_by = null, locked_until = null
   where seq in (select value from json_each(?))`,
  delete: 'delete from outbox_event where seq in (select value from json_each(?))',
}

/** Makes the statement return arrays, which is faster in both drivers. */
function answeringArrays(statement: SqliteStatement): SqliteStatement {
  const settings = statement as { setReturnArrays?(on: boolean): void; raw?(on: boolean): void }
  settings.setReturnArrays?.(true)
  settings.raw?.(true)
  return statement
}
