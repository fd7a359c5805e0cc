import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import mysql from 'mysql2/promise'
import type { Conditions } from '../../store-bench.ts'
import { databaseName, isPassing } from '../sql/database-name.ts'
import { processStat } from '../sql/process-stat.ts'

/** Returns the address of a database of this run. */
export function databaseUrl(name: string, conditions: Conditions): string {
  const url = new URL(serverUrl())
  url.pathname = databaseName(name, conditions)
  return url.href
}

/**
 * Creates an empty database. Drops all others of the run, except shared ones, so that the server has nothing
 * to clean up in them meanwhile.
 */
export async function createDatabase(name: string, conditions: Conditions): Promise<void> {
  const database = databaseName(name, conditions)
  await withConnection(serverUrl(), async (connection) => {
    const old = (await databasesOf(connection, conditions)).filter((each) => isPassing(each, conditions))
    for (const each of new Set([...old, database])) await connection.query(`drop database if exists ${each}`)
    await connection.query(`create database ${database}`)
  })
}

/** Drops every database of this run. */
export async function dropDatabases(conditions: Conditions): Promise<void> {
  await withConnection(serverUrl(), async (connection) => {
    for (const each of await databasesOf(connection, conditions))
      await connection.query(`drop database ${each}`)
  })
}

/** Finishes pending background work of the server before a measurement. */
export async function tidy(url: string): Promise<void> {
  await withConnection(url, async (connection) => {
    await connection.query('analyze table outbox_event')
    // The user may lack the right on a foreign server, and MySQL has no such setting.
    await connection.query('set global innodb_max_purge_lag_wait = 0').catch(() => {})
    // Writes out all changed pages of the table.
    await connection.query('flush tables outbox_event for export').catch(() => {})
    await connection.query('unlock tables')
  })
}

/** Returns how many statements the server has run, for all clients. */
export async function statementCount(): Promise<number> {
  return withConnection(serverUrl(), async (connection) => {
    const [rows] = await connection.query<mysql.RowDataPacket[]>(`show global status like 'Questions'`)
    return Number(rows[0]!['Value'])
  })
}

/** Returns the microseconds of CPU that the server has used so far; undefined if it cannot be seen. */
export async function serverCpuUs(): Promise<number | undefined> {
  const stat = processStat(await serverPid())
  return stat !== undefined && serverName.test(stat.name) ? stat.ownUs : undefined
}

// A server that a loader of its own has started bears the name of the loader.
const serverName = /^(mariadbd|mysqld|ld-linux.*)$/

async function serverPid(): Promise<number> {
  const file = await withConnection(serverUrl(), async (connection) => {
    const [rows] = await connection.query<mysql.RowDataPacket[]>(
      'select @@datadir as folder, @@pid_file as file',
    )
    return resolve(rows[0]!['folder'] as string, rows[0]!['file'] as string)
  })
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    // The server is on another machine, or its file is not readable for us.
    return 0
  }
}

export async function withConnection<Result>(
  uri: string,
  work: (connection: mysql.Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await mysql.createConnection(uri)
  try {
    return await work(connection)
  } finally {
    await connection.end()
  }
}

async function databasesOf(connection: mysql.Connection, conditions: Conditions): Promise<readonly string[]> {
  const [rows] = await connection.query<mysql.RowDataPacket[]>('show databases')
  const prefix = databaseName('', conditions)
  return rows.map((row) => String(row['Database'])).filter((each) => each.startsWith(prefix))
}

function serverUrl(): string {
  return process.env['MYSQL_URL'] ?? process.env['MARIADB_URL']!
}
