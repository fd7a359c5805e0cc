import type { NodeRedisClient, NodeRedisMulti, NodeRedisSubscriber } from './redis-client.ts'
import { bySha, type RedisDriver, settingsOf } from './redis-driver.ts'

/** Runs scripts on a client or a cluster of `redis`. */
export function nodeRedisDriver(client: NodeRedisClient): RedisDriver {
  return {
    run(script, keys, values) {
      const options = { keys: [...keys], arguments: [...values] }
      return bySha(
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
        if (Array.isArray(replies)) return replies
        throw error
      }
    },

    // Whether it was sent the client does not tell.
    isOpenMulti: (tx) => typeof (tx as { execAsPipeline?: unknown }).execAsPipeline === 'function',

    async subscribe(channel, callback) {
      const subscriber = client.duplicate() as NodeRedisSubscriber
      // Whatever ends a connection, the client connects again by itself.
      subscriber.on('error', () => {})
      await subscriber.connect()
      await subscriber.subscribe(channel, callback)
      // It subscribes anew after each loss, and what was said meanwhile is lost.
      subscriber.on('ready', callback)
      return async () => void subscriber.destroy()
    },

    async settings(names) {
      const { masters, nodeClient, configGet } = client as NodeRedisSettings
      const nodes =
        masters === undefined
          ? [client as NodeRedisSettings]
          : await Promise.all(masters.map((master) => nodeClient!.call(client, master)))
      if (masters === undefined && configGet === undefined) return []

      return Promise.all(
        nodes.map(async (node) => {
          const answers = await Promise.all(names.map((name) => node.configGet!(name)))
          return new Map(answers.flatMap((answer) => [...settingsOf(answer)]))
        }),
      )
    },
  }
}

interface NodeRedisSettings {
  configGet?(name: string): Promise<unknown>
  readonly masters?: readonly object[]
  nodeClient?(this: unknown, node: object): Promise<NodeRedisSettings>
}
