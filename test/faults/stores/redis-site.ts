import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { redisServer, type RedisServer } from '../../services/servers/redis/redis-server.ts'
import type { FaultSite, RunSlots } from './fault-store.ts'
import { serverSite, type SiteServer } from './server-site.ts'

/** Returns a site on a Redis of its own that has every write on disk before it replies. */
export async function redisSite(folder: string, slots: RunSlots): Promise<FaultSite> {
  const dataFolder = join(folder, 'redis')
  mkdirSync(dataFolder)
  return serverSite(siteServer(await redisServer({ folder: dataFolder, persistence: 'everyWrite' })), slots)
}

function siteServer(server: RedisServer): SiteServer {
  return {
    url: server.url,
    start: () => server.start(),
    ends: { restart: () => server.stop(), crash: () => server.kill() },
    remove: () => server.kill(),
    addressFor,
    terminate: (slot) => terminate(server.url, slot),
    // Redis has no snapshots to hold.
    holdSnapshot: async () => ({ end: async () => {} }),
    // A MULTI is sent as a whole: when the server has queued the first command, the last one is on its way.
    commit: ['\r\nexec\r\n', 'QUEUED'],
  }
}

// The server distinguishes connections by their names.
function addressFor(slot: string, address: string): string {
  const url = new URL(address)
  url.searchParams.set('connectionName', slot)
  return url.href
}

async function terminate(url: string, slot: string): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => null, maxRetriesPerRequest: 0 })
  client.on('error', () => {})
  try {
    const clients = String(await client.client('LIST')).split('\n')
    const ids = clients
      .filter((line) => line.includes(` name=${slot} `))
      .map((line) => /id=(\d+)/.exec(line)![1]!)
    for (const id of ids.slice(0, 3)) await client.client('KILL', 'ID', id)
  } catch {
    // The server is down, or goes down now: there is nothing to end.
  } finally {
    client.disconnect()
  }
}
