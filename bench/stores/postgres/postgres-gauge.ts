import type pg from 'pg'
import type { Conditions } from '../../store-bench.ts'
import type { Gauge } from '../../suites/steady/steady-subject.ts'
import type { Disturbances } from '../../suites/steady/strained-subjects.ts'
import { databaseName } from '../sql/database-name.ts'
import { postgresGrownTables } from './grown-tables.ts'
import { databaseUrl, withClient } from './postgres-server.ts'

/**
 * Reads the log's place, and the statistics of the tables of a database: of all but those of orders. The
 * server's statistics lag behind by a second at most. It counts statements only if it has loaded
 * `pg_stat_statements`.
 */
export function readGauge(name: string, conditions: Conditions): Promise<Gauge> {
  return withClient(databaseUrl(name, conditions), async (client) => {
    const { rows } = await client.query<Record<string, string>>(
      `select pg_current_wal_insert_lsn() - '0/0' as wal,
              (select xact_commit + xact_rollback from pg_stat_database where datname = $1) as transactions,
              sum(n_dead_tup) as dead, sum(pg_table_size(relid)) as bytes, sum(pg_indexes_size(relid)) as indexes
         from pg_stat_user_tables
        where relname <> 'orders'`,
      [databaseName(name, conditions)],
    )
    const row = rows[0]!
    const statements = await statementCount(client)
    return {
      walBytes: Number(row['wal']),
      transactions: Number(row['transactions']),
      deadRows: Number(row['dead']),
      tableMegabytes: Number(row['bytes']) / 2 ** 20,
      indexMegabytes: Number(row['indexes']) / 2 ** 20,
      ...(statements !== undefined && { statements }),
    }
  })
}

let countsStatements: boolean | undefined

async function statementCount(client: pg.Client): Promise<number | undefined> {
  if (countsStatements === undefined) {
    const { rows } = await client.query<{ loaded: string }>(
      `select current_setting('shared_preload_libraries') as loaded`,
    )
    countsStatements = rows[0]!.loaded.includes('pg_stat_statements')
    if (countsStatements) await client.query('create extension if not exists pg_stat_statements')
  }
  if (!countsStatements) return undefined
  const { rows } = await client.query<{ calls: string }>(
    `select sum(calls) as calls
       from pg_stat_statements
      where dbid = (select oid from pg_database where datname = current_database())`,
  )
  return Number(rows[0]!.calls)
}

export const postgresDisturbances: Disturbances = {
  async holdSnapshot(database, conditions) {
    const session = await postgresGrownTables.holdSnapshot(database, conditions)
    return () => session.end()
  },
  async stopVacuum(database, conditions) {
    await withClient(databaseUrl(database, conditions), (client) =>
      client.query('alter table outbox_event set (autovacuum_enabled = false)'),
    )
    return async () => {}
  },
}
