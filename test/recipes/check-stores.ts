/**
 * Runs the contract of stores with one client, in any runtime: `bun check-stores.ts pg`. Prints the number of
 * checks that passed, and a line for each that failed. It needs the addresses of the servers in the
 * environment.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { memoryStore } from 'sendoff/memory'
import { mysqlStore } from 'sendoff/mysql'
import { postgresStore } from 'sendoff/postgres'
import { redisStore } from 'sendoff/redis'
import { sqliteStore } from 'sendoff/sqlite'
import type { OutboxStore } from 'sendoff/store'
import { skipReason, storeChecks } from 'sendoff/testing'

/** Opens a store on tables of this name, as another process would have it, too. A server ignores `now`. */
type OpenStore = (table: string, now: () => number) => OutboxStore<any>

const clients: Readonly<Record<string, () => Promise<OpenStore>>> = {
  memory: async () => (_table, now) => memoryStore({ now }),
  'node:sqlite': async () => {
    const { DatabaseSync } = await import('node:sqlite')
    return onFiles((file) => new DatabaseSync(file))
  },
  'better-sqlite3': async () => {
    const { default: Database } = await import('better-sqlite3')
    return onFiles((file) => new Database(file))
  },
  'bun:sqlite': async () => {
    // Only Bun has this module.
    const name: string = 'bun:sqlite'
    const { Database } = await import(name)
    return onFiles((file) => new Database(file))
  },
  pg: async () => {
    const { default: pg } = await import('pg')
    const client = new pg.Pool({ connectionString: process.env.POSTGRES_URL!, max: 20 })
    return (table) => postgresStore({ client, table })
  },
  postgres: async () => {
    const { default: postgres } = await import('postgres')
    const client = postgres(process.env.POSTGRES_URL!, { max: 20, onnotice: () => {} })
    return (table) => postgresStore({ client, table })
  },
  mysql2: async () => {
    const { default: mysql } = await import('mysql2/promise')
    const client = mysql.createPool({ uri: process.env.MARIADB_URL!, connectionLimit: 20 })
    const database = `runtime_${process.pid}`
    await client.query(`create database ${database}`)
    return (table) => mysqlStore({ client, database, table })
  },
  ioredis: async () => {
    const { Redis } = await import('ioredis')
    const client = new Redis(process.env.REDIS_URL!)
    return (table) => redisStore({ client, prefix: table })
  },
}

const client = process.argv[2]!
const openStore = await clients[client]!()
// A server has a clock of its own, so that its checks take as long as they say.
const isServer = !/memory|sqlite/.test(client)
const waiting = storeChecks.map((check, index) => ({ check, table: `runtime_${process.pid}_${index}` }))
let passed = 0
let failed = 0

async function runNext(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { check, table } = next
    const opened: OutboxStore<any>[] = []
    let time = Date.UTC(2026, 0, 1)
    const wait = async (ms: number) => (isServer ? delay(ms) : void (time += ms))
    const another = async () => {
      const store = openStore(table, () => time)
      opened.push(store)
      await store.migrate()
      return store
    }
    try {
      // A store in memory has no second process.
      const context = { store: await another(), wait, ...(client !== 'memory' && { another }) }
      if (skipReason(check, context) !== undefined) continue
      await check.run(context)
      passed += 1
    } catch (error) {
      failed += 1
      console.log(`failed: ${check.name}: ${(error as Error).message.split('\n')[0]}`)
    } finally {
      await Promise.all(opened.map((store) => store.close()))
    }
  }
}
await Promise.all(Array.from({ length: 6 }, runNext))
console.log(`${passed} checks passed, ${failed} failed`)
process.exit()

function onFiles(open: (file: string) => any): OpenStore {
  const folder = mkdtempSync(join(tmpdir(), 'sendoff-runtime-'))
  // Without a flush at each commit, which is no matter of the client and takes a loaded disk minutes.
  return (table, now) =>
    sqliteStore({ open: () => open(join(folder, `${table}.db`)), now, synchronous: 'NORMAL' })
}
