import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import type { RedisClient } from '../../../src/stores/redis/index.ts'

/** A client in the words of tests, whichever it is. */
export interface TestedClient {
  readonly name: string
  readonly client: RedisClient
  /** A MULTI of one's own. */
  readonly multi: () => any
  readonly exec: (multi: any) => Promise<unknown>
  readonly get: (key: string) => Promise<string | null>
  readonly set: (key: string, value: string) => Promise<unknown>
  readonly close: () => Promise<unknown>
}

const server = () => process.env['REDIS_URL']!
const clusterNode = () => process.env['REDIS_CLUSTER_URL']!

/** One of each kind, connected to the server of the tests. */
export async function testedClients(): Promise<readonly TestedClient[]> {
  const ioredis = new Redis(server())
  const nodeRedis = await createClient({ url: server() }).connect()
  return [ofIoredis('ioredis', ioredis), ofNodeRedis('redis', nodeRedis)]
}

/** One of each kind, connected to the Cluster of the tests. */
export async function testedClusters(): Promise<readonly TestedClient[]> {
  const ioredis = new Cluster([clusterNode()])
  const nodeRedis = await createCluster({ rootNodes: [{ url: clusterNode() }] }).connect()
  return [ofIoredis('ioredis', ioredis), ofNodeRedis('redis', nodeRedis)]
}

function ofIoredis(name: string, client: Redis | Cluster): TestedClient {
  return {
    name,
    client,
    multi: () => client.multi(),
    exec: (multi) => multi.exec(),
    get: (key) => client.get(key),
    set: (key, value) => client.set(key, value),
    close: () => client.quit(),
  }
}

function ofNodeRedis(name: string, client: any): TestedClient {
  return {
    name,
    client,
    multi: () => client.multi(),
    exec: (multi) => multi.exec(),
    get: (key) => client.get(key),
    set: (key, value) => client.set(key, value),
    close: () => client.close(),
  }
}
