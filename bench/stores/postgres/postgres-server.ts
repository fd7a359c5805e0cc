import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Conditions } from '../../store-bench.ts'
import { databaseName, isPassing } from '../sql/database-name.ts'
import { processStat } from '../sql/process-stat.ts'

/** Returns the address of a database of this run. */
export function databaseUrl(name: string, conditions: Conditions): string {
  const url = serverUrl()
  url.pathname = databaseName(name, conditions)
  return url.href
}

/**
 * Creates an empty database, and returns its address. Drops all others of the run, except shared ones, so
 * that the server has nothing to clean up in them meanwhile.
 */
export async function createDatabase(name: string, conditions: Conditions): Promise<string> {
  const database = databaseName(name, conditions)
  await withClient(serverUrl().href, async (client) => {
    const old = (await databasesOf(client, conditions)).filter((each) => isPassing(each, conditions))
    for (const each of new Set([...old, database])) await dropDatabase(client, each)
    await client.query(`create database ${database}`)
    // As with SQLite's levels, the last transactions may be lost with the machine, but none is torn.
    if (conditions.synchronous === 'NORMAL') {
      await client.query(`alter database ${database} set synchronous_commit = off`)
    }
  })
  return databaseUrl(name, conditions)
}

export async function databaseExists(name: string, conditions: Conditions): Promise<boolean> {
  const all = await withClient(serverUrl().href, (client) => databasesOf(client, conditions))
  return all.includes(databaseName(name, conditions))
}

/** Drops every database of this run, except those that are kept for another one. */
export async function dropDatabases(conditions: Conditions): Promise<void> {
  await withClient(serverUrl().href, async (client) => {
    const all = await databasesOf(client, conditions)
    const dropped = conditions.isKept ? all.filter((each) => isPassing(each, conditions)) : all
    for (const database of dropped) await dropDatabase(client, database)
  })
}

/** Finishes pending background work of the server before a measurement. */
export async function tidy(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('vacuum (analyze)')
    // The user may lack the right on a foreign server.
    await client.query('checkpoint').catch(() => {})
  })
}

/** Returns how many transactions a database has seen, without that of this query. */
export async function transactionCount(name: string, conditions: Conditions): Promise<number> {
  return withClient(serverUrl().href, async (client) => {
    const { rows } = await client.query<{ count: string }>(
      'select xact_commit + xact_rollback as count from pg_stat_database where datname = $1',
      [databaseName(name, conditions)],
    )
    return Number(rows[0]!.count)
  })
}

/**
 * Returns the microseconds of CPU that all processes of the server have used so far; undefined if they cannot
 * be seen.
 */
export async function serverCpuUs(): Promise<number | undefined> {
  const backend = await withClient(serverUrl().href, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return processStat(rows[0]!.pid)
  })
  if (backend?.name !== 'postgres') return undefined

  const { parent } = backend
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ')
  const living = children.map((pid) => processStat(Number(pid))?.ownUs ?? 0)
  const { ownUs, endedChildrenUs } = processStat(parent)!
  return living.reduce((sum, us) => sum + us, ownUs + endedChildrenUs)
}

export async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function databasesOf(client: pg.Client, conditions: Conditions): Promise<readonly string[]> {
  const { rows } = await client.query<{ datname: string }>(
    'select datname from pg_database where starts_with(datname, $1)',
    [databaseName('', conditions)],
  )
  return rows.map(({ datname }) => datname)
}

async function dropDatabase(client: pg.Client, database: string): Promise<void> {
  await untilUnused(client, database)
  // A database with replication slots cannot be dropped, and slots outlive their creator.
  await client.query(
    `select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = $1 and not active`,
    [database],
  )
  await client.query(`drop database if exists ${database} with (force)`)
}

// A pool of pg says that it has ended before its connections have. It would report an error if they were cut.
async function untilUnused(client: pg.Client, database: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { rows } = await client.query(
      `select from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [database],
    )
    if (rows.length === 0) return
    await sleep(20)
  }
}

function serverUrl(): URL {
  return new URL(process.env['POSTGRES_URL']!)
}
