import mysql from 'mysql2/promise'
import type { Subject } from '../../store-bench.ts'
import { limitBatchSize, limitDrainSubjects } from '../../suites/limit-drain.ts'
import { mysqlDatabases } from './mysql-database.ts'
import { databaseUrl } from './mysql-server.ts'

type TakenRow = [seq: number, availableAt: string, ...rest: unknown[]]

export const limitDrains: readonly Subject[] = limitDrainSubjects(
  mysqlDatabases,
  async (database, conditions, drain) => {
    const settings = { uri: databaseUrl(database, conditions), dateStrings: true }
    const [taker, settler] = await Promise.all([
      mysql.createConnection(settings),
      mysql.createConnection(settings),
    ])
    // Locks then cover only rows, and not the gaps between them.
    await taker.query('set session transaction isolation level read committed')
    await settler.query('set session transaction isolation level read committed')
    // The end of the last batch. Rows before it are leased or settled, and not read again.
    let [lastAt, lastSeq] = ['1000-01-01', 0]

    const read = async (sql: string): Promise<readonly TakenRow[]> => {
      const values = [lastAt, lastAt, lastSeq]
      const [rows] = await taker.query({ sql, values, rowsAsArray: true })
      const taken = rows as unknown as TakenRow[]
      const [seq, availableAt] = taken.at(-1) ?? [lastSeq, lastAt]
      ;[lastAt, lastSeq] = [availableAt, seq]
      return taken
    }
    const claim = async (): Promise<readonly TakenRow[]> => {
      await taker.query('start transaction')
      const rows = await read(`${readSql} for update skip locked`)
      if (rows.length > 0) await taker.query(leaseSql(rows))
      await taker.query('commit')
      return rows
    }

    return {
      take: drain.take === 'claim' ? claim : () => read(readSql),
      settle: (rows: readonly TakenRow[]) => settler.query(settleSql[drain.settle](rows)),
      end: () => Promise.all([taker.end(), settler.end()]),
    }
  },
)

// ? and ? due time and ? seq of the last row. By the index `due`, in its order. In the loop of a claim, all
// leased rows lie before it.
const readSql = `
  select seq, available_at, event_id, event_type, aggregate_id, payload, deliveries, attempts
    from outbox_event force index (due)
   where due_at <= utc_timestamp(6)
     and due_at >= ? and (due_at > ? or seq > ?)
     and (locked_by is null or locked_until <= utc_timestamp(6))
   order by due_at, seq
   limit ${limitBatchSize}`

// No parameters. By primary key.
const leaseSql = (rows: readonly TakenRow[]) => `
  update outbox_event
     set locked_by = 'limit', locked_until = utc_timestamp(3) + interval 30 second, deliveries = deliveries + 1
   where ${among(rows)}`

const settleSql = {
  update: (rows: readonly TakenRow[]) => `
  update outbox_event
     set status = 1, done_at = utc_timestamp(3), locked_by = null, locked_until = null
   where ${among(rows)}`,
  delete: (rows: readonly TakenRow[]) => `delete from outbox_event where ${among(rows)}`,
}

function among(rows: readonly TakenRow[]): string {
  return `seq in (${rows.map(([seq]) => seq).join()})`
}
