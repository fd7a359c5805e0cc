import type {
  NodeRedisClient,
  NodeRedisDuplicate,
  NodeRedisMulti,
  NodeRedisSubscriber,
} from './redis-client.ts'
import { runKnown, type RedisDriver, settingsOf } from './redis-driver.ts'
import { type ListenerWatch, SharedWait, watchListener } from './revive-silent.ts'

/**
 * Runs scripts on a client or a cluster of `redis`.
 *
 * It offers no way to have it connect again that would keep what others do with it. Where its connection is silent, the store
 * goes on with a duplicate of its own.
 */
export function nodeRedisDriver(given: NodeRedisClient): RedisDriver {
  let client = given
  let duplicate: NodeRedisDuplicate | undefined
  const wait = new SharedWait(replaceClient)
  const listeners = new Set<ListenerWatch>()

  return {
    run(script, keys, values) {
      const options = { keys: [...keys], arguments: [...values] }
      return runKnown(
        () => wait.answer(client.evalSha(script.sha, options)),
        () => wait.answer(client.eval(script.text, options)),
      )
    },

    multi: () => client.multi(),

    queue(multi, script, keys, values) {
      ;(multi as NodeRedisMulti).eval(script.text, { keys: [...keys], arguments: [...values] })
    },

    async exec(multi) {
      try {
        return (await wait.answer((multi as NodeRedisMulti).exec())) as readonly unknown[]
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
      let subscriber = await subscribed(given, channel, callback)
      let isOver = false
      const listener = watchListener({
        ping: async () => subscriber.ping?.(),
        revive() {
          subscriber.destroy()
          void again()
        },
      })
      listeners.add(listener)
      return async () => {
        isOver = true
        listeners.delete(listener)
        listener.stop()
        subscriber.destroy()
      }

      async function again(): Promise<void> {
        try {
          subscriber = await subscribed(given, channel, callback)
        } catch {
          if (!isOver) setTimeout(() => void again(), resubscribeMs).unref()
          return
        }
        if (isOver) subscriber.destroy()
        // What was said meanwhile is lost.
        else callback()
      }
    },

    async settings(names) {
      return Promise.all(
        (await serversOf(client)).map(async (server) => {
          const answers = await Promise.all(names.map((name) => server.configGet(name)))
          return new Map(answers.flatMap((answer) => [...settingsOf(answer)]))
        }),
      )
    },

    dropSilent(silentMs) {
      wait.endSilent(silentMs)
      for (const listener of listeners) listener.check()
    },

    async close() {
      duplicate?.destroy()
    },
  }

  function replaceClient(): void {
    duplicate?.destroy()
    duplicate = given.duplicate() as NodeRedisDuplicate
    duplicate.on('error', () => {})
    // Commands wait for the connection, and fail if there is none.
    duplicate.connect().catch(() => {})
    client = duplicate
  }
}

const resubscribeMs = 500

async function subscribed(
  client: NodeRedisClient,
  channel: string,
  callback: () => void,
): Promise<NodeRedisSubscriber> {
  const subscriber = client.duplicate() as NodeRedisSubscriber
  // Whatever ends a connection, the client connects again by itself.
  subscriber.on('error', () => {})
  try {
    await subscriber.connect()
    await subscriber.subscribe(channel, callback)
  } catch (error) {
    subscriber.destroy()
    throw error
  }
  // It subscribes anew after each loss, and what was said meanwhile is lost.
  subscriber.on('ready', callback)
  return subscriber
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
