import type { NodeRedisClient, NodeRedisMulti, NodeRedisSubscriber } from './redis-client.ts'
import { runKnown, type RedisDriver, settingsOf } from './redis-driver.ts'

/** Runs scripts on a client or a cluster of `redis`. */
export function nodeRedisDriver(client: NodeRedisClient): RedisDriver {
  return {
    run(script, keys, values) {
      const options = { keys: [...keys], arguments: [...values] }
      return runKnown(
        () => client.evalSha(script.sha, options),
        () => client.eval(script.text, options),
      )
    },

    multi: () => client.multi(),

    queue(multi, script, keys, values) {
      ;(multi as NodeRedisMulti).eval(script.text, { keys: [...keys], arguments: [...values] })
    },

    async exec(multi) {
      try {
        return (await (multi as NodeRedisMulti).exec()) as readonly unknown[]
      } catch (error) {
        // Where single commands fail, the client throws what all of them answered.
        const { replies } = error as { replies?: readonly unknown[] }
        if (replies === undefined) throw error
        return replies
      }
    },

    // Whether it was sent the client does not tell.
    isOpenMulti: (tx) => typeof (tx as { execAsPipeline?: unknown }).execAsPipeline === 'function',

    async subscribe(channel, callback) {
      const subscriber = client.duplicate() as NodeRedisSubscriber
      // Whatever ends a connection, the client connects again by itself.
      subscriber.on('error', () => {})
      try {
        await subscriber.connect()
        await subscriber.subscribe(channel, (text) => callback(text))
      } catch (error) {
        subscriber.destroy()
        throw error
      }
      // It subscribes anew after each loss, and what was said meanwhile is lost.
      subscriber.on('ready', () => callback())
      return async () => void subscriber.destroy()
    },

    async settings(names) {
      return Promise.all(
        (await serversOf(client)).map(async (server) => {
          const answers = await Promise.all(names.map((name) => server.configGet(name)))
          return new Map(answers.flatMap((answer) => [...settingsOf(answer)]))
        }),
      )
    },
  }
}

interface NodeRedisServer {
  configGet(name: string): Promise<unknown>
}

interface NodeRedisCluster {
  readonly masters: readonly object[]
  nodeClient(node: object): Promise<NodeRedisServer> | NodeRedisServer
}

async function serversOf(client: object): Promise<readonly NodeRedisServer[]> {
  if (!('masters' in client)) return [client as NodeRedisServer]
  const cluster = client as NodeRedisCluster
  return Promise.all(cluster.masters.map(async (master) => cluster.nodeClient(master)))
}
