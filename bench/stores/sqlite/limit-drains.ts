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
