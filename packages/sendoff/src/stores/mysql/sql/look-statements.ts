import { maxFailureText } from '../../../store/index.ts'
import type { MysqlTables } from '../schema/mysql-tables.ts'
import { inMs, storedColumns } from './row-columns.ts'
import { now, pendingQueues } from './row-conditions.ts'

/** The rows that an index holds together, in the order of `seq` or of event ids. */
export type LookSource = 'key' | 'pending' | 'dead' | 'blocked' | 'all'

/** The statements by which operators look at the table, for checked names. They lock nothing. */
export function lookStatementsFor({ events, control }: MysqlTables) {
  return {
    // No parameters.
    database: 'select database()',

    // No parameters. By primary key.
    lookBound: `select ${inMs(now)}, coalesce((select seq from ${events} order by seq desc limit 1), 0)`,

    // No parameters. Groups the newest rows, by the index `queue` or by primary key.
    tally: (source: 'pending' | 'dead' | 'all', limit: number) => `
  select status, event_type, destination, count(*)
    from (${newest(source, 'seq, status, event_type, destination', limit)}) as newest
   group by status, event_type, destination`,

    // No parameters. By the index `queue` alone.
    countBlocked: (limit: number) => `
  select count(*)
    from (select 1 from ${events} force index (queue) where queue = 3 limit ${limit}) as blocked`,

    // No parameters. The answer of EXPLAIN has an estimate of the rows in a part of an index.
    estimate: (source: 'pending' | 'dead' | 'all') => {
      if (source === 'all') return `explain select seq from ${events} force index (primary) where seq > 0`
      const queues = source === 'dead' ? '= 1' : `in (${pendingQueues.join()})`
      return `explain select seq from ${events} force index (queue) where queue ${queues}`
    },

    // No parameters. By primary key.
    firstParkedKeys: (limit: number) =>
      `select distinct name from ${control} where kind >= 'park' and kind < 'park0' order by name limit ${limit}`,

    // No parameters. The first row of the index `due`.
    oldestDue: `
  select event_id, destination, event_type, ${inMs('due_at')}
    from ${events} force index (due)
   where due_at <= ${now}
   order by due_at, seq
   limit 1`,

    // No parameters. The newest rows by the index `queue`.
    failures: (limit: number) => `
  select event_type, destination, error, count(*), ${inMs('min(ended)')}, ${inMs('max(ended)')}, min(event_id)
    from (select event_type, destination, left(coalesce(last_error, ''), ${maxFailureText}) as error,
                 coalesce(done_at, created_at) as ended, event_id
            from ${events} force index (queue)
           where queue = 1
           order by seq desc
           limit ${limit}) as newest
   group by event_type, destination, error`,

    // No parameters. Returns a row if there are more DEAD rows. The index `queue` alone.
    moreDead: (than: number) => `
  select 1 from ${events} force index (queue) where queue = 1 order by seq desc limit ${than}, 1`,

    // The parameters of `place`, for `pending` three times. Returns the last row of a window.
    lookWindow: (source: LookSource, order: LookOrder, place: string, window: number) =>
      look(source, order, 'seq, event_id, destination', place, window, `${window - 1}, 1`),

    // The parameters of `condition`, for `pending` three times.
    lookRows: (source: LookSource, order: LookOrder, condition: string, limit: number) =>
      look(source, order, storedColumns, condition, limit, String(limit)),
  } as const

  function newest(source: 'pending' | 'dead' | 'all', columns: string, limit: number): string {
    if (source === 'all') {
      return `select ${columns} from ${events} force index (primary) order by seq desc limit ${limit}`
    }
    const ofQueue = (queue: number) =>
      `(select ${columns} from ${events} force index (queue) where queue = ${queue} order by seq desc limit ${limit})`
    return source === 'dead'
      ? ofQueue(1)
      : `${pendingQueues.map(ofQueue).join(' union all ')} order by seq desc limit ${limit}`
  }

  // Pending rows are in several places of their index: each is read, and then the rows are put in order.
  function look(
    source: LookSource,
    order: LookOrder,
    columns: string,
    condition: string,
    read: number,
    limit: string,
  ): string {
    if (source === 'pending') {
      const parts = pendingQueues.map(
        (queue) =>
          `(${part('queue', columns, `queue = ${queue} and ${condition}`, `seq ${order}`, String(read))})`,
      )
      return `${parts.join(' union all ')} order by seq ${order} limit ${limit}`
    }
    const { index, where, by } = sources[source]
    return part(index, columns, `${where}${condition}`, by(order), limit)
  }

  function part(index: string, columns: string, where: string, by: string, limit: string): string {
    return `
  select ${columns}
    from ${events} as event force index (${index})
   where ${where}
   order by ${by}
   limit ${limit}`
  }
}

/** The direction of a scan. */
export type LookOrder = 'asc' | 'desc'

const bySeq = (order: LookOrder): string => `seq ${order}`

const sources = {
  dead: { index: 'queue', where: 'queue = 1 and ', by: bySeq },
  blocked: { index: 'queue', where: 'queue = 3 and ', by: bySeq },
  // ? key, before the parameters of the condition.
  key: { index: 'pending_key', where: 'pending_key = ? and ', by: bySeq },
  all: { index: 'event', where: '', by: (order: LookOrder) => `event_id ${order}, destination ${order}` },
} as const
