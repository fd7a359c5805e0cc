import { payloadOf } from '../bench-event.ts'
import type { BenchDatabases, Conditions, OnEvent, RunningWorker, Subject } from '../store-bench.ts'
import { drainSubject, sendoffBacklog } from './drain.ts'

export const limitBatchSize = 500

export interface LimitDrain {
  /** Whether rows are leased before they are handled. An owner needs no leases, and keeps its place. */
  readonly take: 'claim' | 'read'
  /** Whether handled rows are kept as DONE or removed. */
  readonly settle: 'update' | 'delete'
}

/** Two connections to one database, and the steps of a drain on them. */
export interface LimitConnections<Row> {
  /** Returns the next `limitBatchSize` rows, after those of the call before. */
  readonly take: () => Promise<readonly Row[]>
  /** Uses a connection of its own, so that the next rows are read meanwhile. */
  readonly settle: (rows: readonly Row[]) => Promise<unknown>
  readonly end: () => Promise<unknown>
}

/**
 * Drains written by hand on the same table of a server: batches of 500, and a listener called for each row. A
 * second connection takes the next batch while the last one is settled.
 *
 * There is nothing else: no retries, no fences, no queues, no time limits, and no search for rows that were
 * committed late.
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

// A drain does not read the payloads.
const unread = { payload: payloadOf(0) }
