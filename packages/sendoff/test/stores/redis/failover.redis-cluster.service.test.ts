import { ok } from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import {
  cluster,
  redisCluster,
  redisClusterServers,
} from '../../../../../test/services/servers/redis/redis-cluster.ts'
import type { RedisServer } from '../../../../../test/services/servers/redis/redis-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import type { EventWriter } from '../../../src/write/event-writer.ts'
import { type RedisStore, redisStore } from '../../../src/stores/redis/index.ts'
import { RecordingListener } from '../../fixtures/recording-listener.ts'
import { startOutbox } from '../../fixtures/outbox-fixture.ts'

/** Opens a store on a Cluster by the address of one of its servers. */
type OpenStore = (test: TestContext, url: string, prefix: string) => Promise<RedisStore<any>>

const openers: Readonly<Record<'ioredis' | 'redis', OpenStore>> = {
  async ioredis(test, url, prefix) {
    const client = new Cluster([url], {
      clusterRetryStrategy: () => 50,
      redisOptions: { connectTimeout: 1_000 },
    })
    client.on('error', () => {})
    test.after(() => client.disconnect())
    return redisStore({ client, prefix })
  },

  async redis(test, url, prefix) {
    const client = createCluster({
      rootNodes: [{ url }],
      defaults: { socket: { reconnectStrategy: () => 50, connectTimeout: 1_000 } },
    })
    client.on('error', () => {})
    await client.connect()
    test.after(() => client.destroy())
    return redisStore({ client, prefix })
  },
}

/** A failover takes long: each client has a mode of its own. */
const modes = { ioredis: 'multiNode', redis: 'singleWriter' } as const

// Last of all: whatever still uses them has ended then.
const clusters: { end(): Promise<void> }[] = []
after(async () => {
  for (const each of clusters) await each.end()
})

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await redisCluster.find()) && 'Redis itself is not on this machine'

describe('a Cluster whose master is killed', { skip }, () => {
  for (const name of ['ioredis', 'redis'] as const) {
    const mode = modes[name]
    it(`goes on with its replica, by ${name}, ${mode}, and loses nothing but what had not been replicated`, async (test) => {
      const { servers, prefix } = await ownCluster()
      const [master, another, , replica] = servers as [RedisServer, RedisServer, RedisServer, RedisServer]
      const open = openers[name]
      const listener = new RecordingListener()
      await startOutbox(test, await open(test, another.url, prefix), {
        mode,
        listener,
        poller: { intervalMs: 50, busyIntervalMs: 50 },
        leaseMs: 2_000,
      })
      const writer = await Outbox.writerOnly({
        store: await open(test, another.url, prefix),
        logger: false,
      }).start()

      const writing = new Writing(writer)
      await writing.until(100)
      const replicated = await withoutReplica(master, prefix, writing)
      await writing.until(writing.acknowledged.length + 50)
      await master.kill()
      await promoted(replica)
      const seen = writing.acknowledged.length
      await writing.until(seen + 100)
      await writing.stop()
      await writer.close()

      const afterwards = writing.acknowledged.slice(seen)
      const delivered = new Set(listener.payloads as number[])
      await until(() => {
        listener.payloads.forEach((payload) => delivered.add(payload as number))
        return [...replicated, ...afterwards].every((payload) => delivered.has(payload))
      })
      const lost = writing.acknowledged.filter((payload) => !delivered.has(payload))
      test.diagnostic(
        `by ${name}: of ${writing.acknowledged.length} acknowledged events the failover lost ${lost.length}; ` +
          `${writing.refused} writes were refused meanwhile`,
      )
      ok(lost.length > 0, 'nothing was lost, so that nothing was measured')
      ok(afterwards.length >= 100)
    })
  }
})

/** Writes events one after the other in some lanes, and goes on where one is refused. */
class Writing {
  readonly acknowledged: number[] = []
  refused = 0
  readonly #lanes: readonly Promise<void>[]
  #next = 0
  #isStopped = false

  constructor(outbox: EventWriter<any>) {
    this.#lanes = Array.from({ length: 4 }, () => this.#write(outbox))
  }

  until(count: number): Promise<void> {
    return until(() => this.acknowledged.length >= count)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#lanes)
  }

  async #write(outbox: EventWriter<any>): Promise<void> {
    while (!this.#isStopped) {
      const payload = ++this.#next
      try {
        // Late enough to be lost: what was delivered before the master dies is no loss.
        await outbox.transaction(() => outbox.write('Tested', payload, { deliverAfterMs: 1_000 }))
        this.acknowledged.push(payload)
      } catch {
        this.refused += 1
        await delay(20)
      }
      await delay(1)
    }
  }
}

/** Keeps the replica from following any further, and answers what was acknowledged and is known to have reached it. */
async function withoutReplica(
  master: RedisServer,
  prefix: string,
  writing: Writing,
): Promise<readonly number[]> {
  const acknowledged = [...writing.acknowledged]
  const client = new Redis(master.url)
  // The server waits for what this connection has written, and the replica gets everything in order.
  await client.set(`{${prefix}}:replicated`, '1')
  ok((await client.wait(1, 10_000)) >= 1, 'the replica does not follow')
  await client.acl('SETUSER', 'default', '-psync')
  await client.call('CLIENT', 'KILL', 'TYPE', 'replica')
  client.disconnect()
  return acknowledged
}

async function promoted(replica: RedisServer): Promise<void> {
  await until(async () => (await cluster(replica, 'nodes')).includes('myself,master'))
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(20)
}

/** Three masters, the first with a replica, and a prefix whose keys are with the first. */
async function ownCluster() {
  const folder = temporaryFolder('cluster')
  const servers = await redisClusterServers({ folder: folder.path, replicas: 1, nodeTimeoutMs: 500 })
  clusters.push({
    async end() {
      await Promise.all(servers.map((server) => server.kill()))
      folder.remove()
    },
  })
  for (let number = 0; ; number++) {
    const prefix = `outbox-${number}`
    if (Number(await cluster(servers[0]!, 'keyslot', prefix)) < 5_000) return { servers, prefix }
  }
}
