import { payloadOf } from '../bench-event.ts'
import type { BenchDatabases, Conditions, OnEvent, RunningWorker, Subject } from '../store-bench.ts'
import { drainSubject, sendoffBacklog } from './drain.ts'

export const limitBatchSize = 500

export interface LimitDrain {
  /** Whether rows are leased before they are handled; an owner needs no leases, and remembers where it is. */
  readonly take: 'claim' | 'read'
  /** Whether handled rows are kept as DONE or removed. */
  readonly settle: 'update' | 'delete'
}

/** Two connections to one database, and what is done on them. */
export interface LimitConnections<Row> {
  /** The next `limitBatchSize` rows, behind those that it took before. */
  readonly take: () => Promise<readonly Row[]>
  /** On a connection of its own, so that the next rows are taken meanwhile. */
  readonly settle: (rows: readonly Row[]) => Promise<unknown>
  readonly end: () => Promise<unknown>
}

/**
 * Drains written by hand on the same table of a server: batches of 500, a listener called for each row, the
 * next batch taken on a second connection while the last one is settled, and nothing else. No retries, no
 * fences, no queues, no time limits, and nobody looks for rows that were committed late.
 */
export function limitDrainSubjects<Tx, Row>(
  databases: BenchDatabases<Tx>,
  connect: (database: string, conditions: Conditions, drain: LimitDrain) => Promise<LimitConnections<Row>>,
): readonly Subject[] {
  const subject = (name: string, drain: LimitDrain): Subject =>
    drainSubject({
      name,
      backlog: sendoffBacklog(databases),
      ...(drain.take === 'read' && { singleProcess: true }),
      worker: async (database, conditions, onEvent) =>
        emptyTable(await connect(database, conditions, drain), onEvent),
    })

  return [
    subject('limit-claim-update', { take: 'claim', settle: 'update' }),
    subject('limit-claim-delete', { take: 'claim', settle: 'delete' }),
    subject('limit-owner-update', { take: 'read', settle: 'update' }),
  ]
}

/** Runs until nothing is left. */
function emptyTable<Row>({ take, settle, end }: LimitConnections<Row>, onEvent: OnEvent): RunningWorker {
  const listener: (row: Row) => Promise<void> = async () => onEvent(unread)

  const run = async (): Promise<void> => {
    let next = take()
    let settling: Promise<unknown> | undefined
    for (let rows = await next; rows.length > 0; rows = await next) {
      next = take()
      for (const row of rows) await listener(row)
      await settling
      settling = settle(rows)
    }
    await settling
  }
  const settled = run()
  return {
    settled: () => settled,
    async stop() {
      await settled
      await end()
    },
  }
}

// Nobody looks at the payloads of a drain.
const unread = { payload: payloadOf(0) }
