import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import { debianMariadbServer } from '../../services/servers/mariadb/mariadb.ts'
import type { MariadbServer } from '../../services/servers/mariadb/mariadb-server.ts'
import { isOnMysql } from '../../services/servers/mysql/on-mysql.ts'
import type { FaultSite, RunSlots } from './fault-store.ts'
import { serverSite, type SiteServer } from './server-site.ts'

// The 3 says that a statement follows: others have the word in them, too. To a MySQL, mysql2 sends how many
// attributes and sets of them come in between.
const commitRequest = isOnMysql ? '\x03\0\x01commit' : '\x03commit'

/** Returns a site on a MariaDB of its own. */
export async function mariadbSite(folder: string, slots: RunSlots): Promise<FaultSite> {
  const dataFolder = join(folder, 'mariadb')
  mkdirSync(dataFolder)
  const server = await debianMariadbServer(dataFolder)
  await addUsers(server.url, [...slots.workers, ...slots.writers])
  return serverSite(siteServer(server), slots)
}

function siteServer(server: MariadbServer): SiteServer {
  return {
    url: server.url,
    start: () => server.start(),
    ends: { restart: () => server.stop(), crash: () => server.kill() },
    remove: () => server.kill(),
    addressFor,
    terminate: (slot) => terminate(server.url, slot),
    holdSnapshot: () => holdSnapshot(server.url),
    commit: [commitRequest],
  }
}

// The server distinguishes sessions by their users.
async function addUsers(url: string, names: readonly string[]): Promise<void> {
  const connection = await mysql.createConnection(url)
  for (const name of names) {
    await connection.query(`create user ${name}@'127.0.0.1'`)
    await connection.query(`grant all on *.* to ${name}@'127.0.0.1'`)
  }
  await connection.end()
}

function addressFor(slot: string, address: string): string {
  const url = new URL(address)
  if (slot !== 'driver') url.username = slot
  return url.href
}

async function terminate(url: string, slot: string): Promise<void> {
  const connection = await openUnlessDown(url)
  if (connection === undefined) return

  try {
    const [rows] = await connection.query<mysql.RowDataPacket[]>(
      'select id from information_schema.processlist where user = ? order by rand() limit 3',
      [slot],
    )
    // Sessions may have ended meanwhile, and the server may go down now.
    for (const { id } of rows) await connection.query('kill ?', [id]).catch(() => {})
  } finally {
    connection.destroy()
  }
}

async function openUnlessDown(url: string): Promise<mysql.Connection | undefined> {
  try {
    const connection = await mysql.createConnection(url)
    connection.on('error', () => {})
    return connection
  } catch {
    return undefined
  }
}

async function holdSnapshot(url: string): Promise<mysql.Connection> {
  const connection = await mysql.createConnection(url)
  connection.on('error', () => {})
  await connection.query('start transaction with consistent snapshot')
  return connection
}
