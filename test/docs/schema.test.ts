import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { mysqlStore } from 'sendoff/mysql'
import { postgresStore } from 'sendoff/postgres'
import { sqliteStore } from 'sendoff/sqlite'
import { projectRoot } from '../workspace.ts'
import { sectionsOf } from './page-sections.ts'

describe('docs/schema.md', () => {
  const page = readFileSync(join(projectRoot, 'docs/schema.md'), 'utf8')
  const columns = columnsOfPostgres()

  it('lists exactly the tables and columns of PostgreSQL', () => {
    equal(columns.length > 50, true)
    const sections = [...sectionsOf(page)].filter(([heading]) => heading.startsWith('`'))
    const listed = sections.flatMap(([heading, { names }]) =>
      [...new Set(names)].map((name) => `${heading.replaceAll('`', '')}.${name}`),
    )
    // The cells of the table of keys name values, too.
    const values = ['outbox_event_meta.revision', 'outbox_event_meta.oldest_code']
    deepEqual(listed.filter((name) => !values.includes(name)).toSorted(), columns.toSorted())
  })

  it('lists exactly the columns that MySQL and SQLite have beside them, or leave out', async () => {
    const rows = [...page.matchAll(/^\| (MySQL|SQLite) +\| (.*?) *\| ([^|]*?) *\|$/gm)]
    const told = (store: string, cell: 2 | 3) =>
      rows
        .filter(([, name]) => name === store)
        .flatMap((row) => row[cell]!.match(/(?<=`)outbox_event\w*\.\w+/g) ?? [])
    for (const [store, own] of [
      ['MySQL', columnsOfMysql()],
      ['SQLite', await columnsOfSqlite()],
    ] as const) {
      equal(own.length > 50, true)
      deepEqual(told(store, 2).toSorted(), own.filter((name) => !columns.includes(name)).toSorted(), store)
      deepEqual(told(store, 3).toSorted(), columns.filter((name) => !own.includes(name)).toSorted(), store)
    }
  })

  it('lists exactly the indexes of the table of events', async () => {
    const rows = [...page.matchAll(/^\| (PostgreSQL|MySQL|SQLite) +\| `(\w+)` +\|/gm)]
    const listed = rows.map(([, store, name]) => `${store} ${name}`)
    const sql = postgresStore({ client: new Pool() }).schemaSql()
    const ofPostgres = [...sql.matchAll(/create index if not exists "(\w+)" on "public"\."outbox_event" /g)]
    const [, table = ''] =
      /create table if not exists `\w+`\.`outbox_event` \(\n([\s\S]*?)\n\)/.exec(mysqlSchema()) ?? []
    const ofMysql = [...table.matchAll(/^ *(?:unique )?key (\w+) /gm)]
    const ofSqlite = await querySqliteSchema(
      "select name from sqlite_schema where type = 'index' and tbl_name = 'outbox_event' and sql is not null",
    )
    deepEqual(
      listed.toSorted(),
      [
        ...ofPostgres.map(([, name]) => `PostgreSQL ${name}`),
        ...ofMysql.map(([, name]) => `MySQL ${name}`),
        ...ofSqlite.map(({ name }) => `SQLite ${name}`),
      ].toSorted(),
    )
  })
})

function columnsOfPostgres(): readonly string[] {
  const sql = postgresStore({ client: new Pool() }).schemaSql() // connects to nothing
  return [
    ...sql.matchAll(/create table if not exists "public"\."(\w+)" \(\n([\s\S]*?)\n\)/g),
    ...sql.matchAll(/alter table "public"\."(\w+)"\n([\s\S]*?);/g),
  ].flatMap(([, table, lines = '']) =>
    [...lines.matchAll(/^ +(?:add column if not exists )?(?!primary key)(\w+) /gm)].map(
      ([, column]) => `${table}.${column}`,
    ),
  )
}

function columnsOfMysql(): readonly string[] {
  const sql = mysqlSchema()
  const created = [...sql.matchAll(/create table if not exists `\w+`\.`(\w+)` \(\n([\s\S]*?)\n\)/g)].flatMap(
    ([, table, lines = '']) =>
      [...lines.matchAll(/^ {2}(?!primary key|unique key|key )`?(\w+)`? /gm)].map(
        ([, column]) => `${table}.${column}`,
      ),
  )
  const added = [...sql.matchAll(/alter table `\w+`\.`(\w+)` add column `(\w+)`/g)]
  return [...created, ...added.map(([, table, column]) => `${table}.${column}`)]
}

function mysqlSchema(): string {
  return mysqlStore({ client: createPool({}), database: 'any' }).schemaSql() // connects to nothing
}

async function columnsOfSqlite(): Promise<readonly string[]> {
  const rows = await querySqliteSchema(
    `select tables.name as "table", columns.name from sqlite_schema as tables
       join pragma_table_info(tables.name) as columns
      where tables.type = 'table' and tables.name like 'outbox_event%'`,
  )
  return rows.map(({ table, name }) => `${table}.${name}`)
}

async function querySqliteSchema(sql: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const database = new DatabaseSync(':memory:')
  const store = sqliteStore({ open: () => database })
  await store.migrate()
  const rows = database.prepare(sql).all() as Record<string, string>[]
  await store.close()
  return rows
}
