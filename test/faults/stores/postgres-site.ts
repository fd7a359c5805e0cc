import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Client, DatabaseError } from 'pg'
import { debianPostgresServer } from '../../services/servers/postgres/postgres.ts'
import type { PostgresServer } from '../../services/servers/postgres/postgres-server.ts'
import type { FaultSite, RunSlots } from './fault-store.ts'
import { serverSite, type SiteServer } from './server-site.ts'

/** Returns a site on a PostgreSQL of its own. */
export async function postgresSite(folder: string, slots: RunSlots): Promise<FaultSite> {
  const dataFolder = join(folder, 'postgres')
  mkdirSync(dataFolder)
  return serverSite(siteServer(await debianPostgresServer(dataFolder)), slots)
}

function siteServer(server: PostgresServer): SiteServer {
  return {
    url: server.url,
    start: () => server.start(),
    ends: {
      fastRestart: () => server.stop('fast'),
      immediateRestart: () => server.stop('immediate'),
      crash: () => server.kill(),
    },
    remove: () => server.stop('immediate'),
    addressFor,
    terminate: (slot) => terminate(addressFor('driver', server.url), slot),
    holdSnapshot: () => holdSnapshot(server.url),
    commit: ['COMMIT', 'COMMIT'],
  }
}

function addressFor(slot: string, address: string): string {
  const url = new URL(address)
  url.searchParams.set('application_name', slot)
  return url.href
}

async function terminate(url: string, slot: string): Promise<void> {
  const client = new Client(url)
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(
      `select pg_terminate_backend(pid, 1000)
         from (select pid from pg_stat_activity where application_name = $1 order by random() limit 3) as chosen`,
      [slot],
    )
  } catch (error) {
    // The server may be down, or go down now: then the harm is done already.
    if (error instanceof DatabaseError && !isShutDown(error)) throw error
  } finally {
    await client.end().catch(() => {})
  }
}

/** Codes of this class come from a server that starts or shuts down. */
function isShutDown({ code }: DatabaseError): boolean {
  return code?.startsWith('57P') ?? false
}

async function holdSnapshot(url: string): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select from pg_class limit 1')
  return client
}
