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
 * The client offers no way to reconnect without disturbing its other users. If its connection is silent, the
 * store continues with a duplicate of its own.
 */
export function nodeRedisDriver(given: NodeRedisClient): RedisDriver {
  let client = given
  let isClosed = false
  const opened = new Set<NodeRedisDuplicate>()
  const wait = new SharedWait(replaceClient)
  const listeners = new Set<ListenerWatch>()

  return {
    run(script, keyspace, values) {
      const options = { keys: [...keyspace], arguments: [...values] }
      return runKnown(
        () => wait.answer(client.evalSha(script.sha, options)),
        () => wait.answer(client.eval(script.text, options)),
      )
    },

    multi: () => client.multi(),

    queue(multi, script, keyspace, values) {
      ;(multi as NodeRedisMulti).eval(script.text, { keys: [...keyspace], arguments: [...values] })
    },

    async exec(multi) {
      try {
        return (await wait.answer((multi as NodeRedisMulti).exec())) as readonly unknown[]
      } catch (error) {
        // If single commands fail, the client throws an error that has the results of all commands.
        const { replies } = error as { replies?: readonly unknown[] }
        if (replies === undefined) throw error
        return replies
      }
    },

    // The client does not show whether a MULTI was sent.
    isOpenMulti: (tx) => typeof (tx as { execAsPipeline?: unknown }).execAsPipeline === 'function',

    async subscribe(channel, callback) {
      let subscriber = open() as NodeRedisSubscriber
      let isOver = false
      await subscribe()
      const listener = watchListener({
        ping: async () => subscriber.ping?.(),
        revive() {
          end(subscriber)
          void again()
        },
      })
      listeners.add(listener)
      return async () => {
        isOver = true
        listeners.delete(listener)
        listener.stop()
        end(subscriber)
      }

      async function subscribe(): Promise<void> {
        try {
          await subscriber.connect()
          await subscriber.subscribe(channel, (text) => callback(text))
        } catch (error) {
          end(subscriber)
          throw error
        }
        // The client subscribes again after each loss. Messages sent meanwhile are lost.
        subscriber.on('ready', () => callback())
      }

      async function again(): Promise<void> {
        if (isOver || isClosed) return
        subscriber = open() as NodeRedisSubscriber
        try {
          await subscribe()
          callback()
        } catch {
          setTimeout(() => void again(), resubscribeMs).unref()
        }
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
      isClosed = true
      opened.forEach(end)
    },
  }

  // A cluster finds another server by itself. A duplicate could not connect while one of its servers is away.
  function replaceClient(): void {
    if (isClosed || isCluster(given)) return
    if (client !== given) end(client as NodeRedisDuplicate)
    const duplicate = open()
    // Commands wait for the connection, and fail if there is none.
    duplicate.connect().catch(() => {
      setTimeout(() => client === duplicate && replaceClient(), resubscribeMs).unref()
    })
    client = duplicate
  }

  function open(): NodeRedisDuplicate {
    const duplicate = given.duplicate() as NodeRedisDuplicate
    // The client reconnects by itself, whatever ended the connection.
    duplicate.on('error', () => {})
    opened.add(duplicate)
    return duplicate
  }

  function end(duplicate: NodeRedisDuplicate): void {
    opened.delete(duplicate)
    duplicate.destroy()
  }
}

/** How many milliseconds to wait before connecting again. */
const resubscribeMs = 500

interface NodeRedisServer {
  configGet(name: string): Promise<unknown>
}

interface NodeRedisCluster {
  readonly masters: readonly object[]
  nodeClient(node: object): Promise<NodeRedisServer> | NodeRedisServer
}

async function serversOf(client: object): Promise<readonly NodeRedisServer[]> {
  if (!isCluster(client)) return [client as NodeRedisServer]
  return Promise.all(client.masters.map(async (master) => client.nodeClient(master)))
}

function isCluster(client: object): client is NodeRedisCluster {
  return 'masters' in client
}
