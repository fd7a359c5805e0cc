import { DatabaseSync } from 'node:sqlite'
import mysql from 'mysql2/promise'
import pg from 'pg'
import type { OutboxStore } from '../../src/store/index.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { serverAddress } from '../stores/mysql/mysql-database.ts'

export type DatabaseKind = 'postgres' | 'mariadb' | 'sqlite'

/**
 * A database with a store and a table of effects, as each process opens it. The table takes an effect twice, so
 * that a test can see it.
 */
export interface EffectsDatabase {
  readonly store: OutboxStore<any>
  createEffects(): Promise<void>
  addEffect(tx: any, id: string): unknown
  /** The ids of all effects, in order. */
  effects(): Promise<string[]>
  close(): Promise<void>
}

/** Opens a database. Its place is a schema, the name of a database, or a file. */
export function openDatabase(kind: DatabaseKind, place: string): EffectsDatabase {
  return kinds[kind](place)
}

const create = 'create table if not exists effects (id varchar(64) not null)'
const select = 'select id from effects order by id'

const kinds: Readonly<Record<DatabaseKind, (place: string) => EffectsDatabase>> = {
  postgres(schema) {
    const client = new pg.Pool({
      connectionString: process.env['POSTGRES_URL']!,
      options: `-c search_path=${schema}`,
      max: 4,
    })
    return {
      store: postgresStore({ client, schema }),
      createEffects: async () => void (await client.query(create)),
      addEffect: (tx: pg.PoolClient, id) => tx.query('insert into effects values ($1)', [id]),
      effects: async () => (await client.query<{ id: string }>(select)).rows.map(({ id }) => id),
      close: () => client.end(),
    }
  },

  mariadb(database) {
    const client = mysql.createPool({
      ...serverAddress(process.env['MARIADB_URL']!),
      database,
      connectionLimit: 4,
    })
    return {
      store: mysqlStore({ client }),
      createEffects: async () => void (await client.query(create)),
      addEffect: (tx: mysql.Connection, id) => tx.query('insert into effects values (?)', [id]),
      async effects() {
        const [rows] = await client.query<mysql.RowDataPacket[]>(select)
        return rows.map((row) => String(row['id']))
      },
      close: () => client.end(),
    }
  },

  sqlite(file) {
    const reading = new DatabaseSync(file)
    reading.exec('pragma journal_mode = wal')
    return {
      store: sqliteStore({
        open: () => new DatabaseSync(file),
        synchronous: 'NORMAL',
        busyTimeoutMs: 60_000,
      }),
      createEffects: async () => reading.exec(create),
      addEffect: (tx: DatabaseSync, id) => tx.prepare('insert into effects values (?)').run(id),
      effects: async () => (reading.prepare(select).all() as { id: string }[]).map(({ id }) => id),
      close: async () => reading.close(),
    }
  },
}
