import { type IoredisClient, type NodeRedisClient, redisStore } from 'sendoff/redis'
import { given } from '../given.ts'
import { requirePackage } from './load-package.ts'
import { type ClientOptions, connectTimeoutMs, type StoreClient } from './store-client.ts'

/** Opens a store in Redis, by ioredis or redis. */
export function redisClient(url: URL, { table: prefix }: ClientOptions): StoreClient {
  const { client, connect, close } = openRedis(url)
  return { storeOf: () => redisStore({ client, ...given({ prefix }) }), connect, close }
}

/** A client of Redis, by ioredis or redis, that reconnects after a loss. */
export function openRedis(url: URL): OpenedRedis {
  const { name, module } = requirePackage('Redis', ['ioredis', 'redis'])
  return name === 'ioredis'
    ? withIoredis(url, module as IoredisModule)
    : withNodeRedis(url, module as NodeRedisModule)
}

/** A client of Redis that was opened here. */
export interface OpenedRedis {
  readonly client: IoredisClient | NodeRedisClient
  readonly connect: () => Promise<void>
  readonly close: () => Promise<void>
}

interface IoredisModule {
  readonly Redis: new (
    url: string,
    options: object,
  ) => IoredisClient & {
    on(event: 'error', listener: (error: Error) => void): unknown
    connect(): Promise<void>
    disconnect(): void
    quit(): Promise<unknown>
  }
}

interface NodeRedisModule {
  readonly createClient: (options: object) => NodeRedisClient & {
    on(event: 'error', listener: (error: Error) => void): unknown
    connect(): Promise<unknown>
    close(): Promise<unknown>
    destroy(): void
    readonly isOpen: boolean
  }
}

function withIoredis(url: URL, { Redis }: IoredisModule): OpenedRedis {
  let isConnected = false
  let lastError: Error | undefined
  const client = new Redis(url.href, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    connectionName: 'sendoff',
    maxRetriesPerRequest: 3,
    // Before the first connection a wrong address must show, and not be tried again.
    retryStrategy: (times: number) => (isConnected ? Math.min(times * 100, 2_000) : null),
  })
  client.on('error', (error) => (lastError = error))
  return {
    client,
    async connect() {
      try {
        await client.connect()
      } catch (error) {
        throw lastError ?? error
      }
      isConnected = true
    },
    async close() {
      if (isConnected) await client.quit().catch(() => {})
      client.disconnect()
    },
  }
}

function withNodeRedis(url: URL, { createClient }: NodeRedisModule): OpenedRedis {
  let isConnected = false
  const client = createClient({
    url: url.href,
    name: 'sendoff',
    socket: {
      connectTimeout: connectTimeoutMs,
      reconnectStrategy: (retries: number, cause: Error) =>
        isConnected ? Math.min((retries + 1) * 100, 2_000) : cause,
    },
  })
  client.on('error', () => {})
  return {
    client,
    async connect() {
      await client.connect()
      isConnected = true
    },
    async close() {
      if (!client.isOpen) return
      if (isConnected) await client.close().catch(() => {})
      else client.destroy()
    },
  }
}
