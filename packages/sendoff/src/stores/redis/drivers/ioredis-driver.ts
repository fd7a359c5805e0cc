import type { IoredisClient, IoredisMulti, IoredisSubscriber } from './redis-client.ts'
import type { RedisKeyspace } from '../redis-keyspace.ts'
import { runKnown, type RedisDriver, settingsOf } from './redis-driver.ts'
import { type ListenerWatch, reviveIfSilent, SharedWait, watchListener } from './revive-silent.ts'

/** Runs scripts on a client or a cluster of `ioredis`. */
export function ioredisDriver(client: IoredisClient): RedisDriver {
  const wait = new SharedWait(() => breakOffSilent(client))
  const listeners = new Set<ListenerWatch>()
  const subscribers = new Set<IoredisSubscriber>()

  return {
    run: (script, keyspace, values) =>
      runKnown(
        () => wait.patiently(client.evalsha(script.sha, keyspace.length, ...together(keyspace, values))),
        () => wait.patiently(client.eval(script.text, keyspace.length, ...together(keyspace, values))),
      ),

    multi: () => client.multi(),

    queue(multi, script, keyspace, values) {
      ;(multi as IoredisMulti).eval(script.text, keyspace.length, ...together(keyspace, values))
    },

    async exec(multi) {
      const results = await wait.patiently((multi as IoredisMulti).exec())
      return (results ?? []).map(([error, result]) => error ?? result)
    },

    // A pipeline of ioredis counts its open transactions. Without an open one, its commands do not stay
    // together.
    isOpenMulti: (tx) =>
      (tx as { isPipeline?: unknown }).isPipeline === true &&
      Number((tx as { _transactions?: unknown })._transactions) > 0,

    async subscribe(channel, callback) {
      const subscriber = duplicateOf(client)
      subscribers.add(subscriber)
      // The client reconnects by itself, whatever ended the connection.
      subscriber.on('error', () => {})
      subscriber.on('message', (_channel, text) => callback(String(text)))
      try {
        await subscriber.subscribe(channel)
      } catch (error) {
        subscriber.disconnect()
        throw error
      }
      // After each loss of the connection. Signals that were sent meanwhile are lost.
      subscriber.on('ready', () => {
        subscriber.subscribe(channel).then(
          () => callback(),
          () => {},
        )
      })
      const listener = watchListener({
        ping: () => subscriber.ping(),
        revive: () => breakOff(subscriber),
      })
      listeners.add(listener)
      return async () => {
        listeners.delete(listener)
        listener.stop()
        subscribers.delete(subscriber)
        subscriber.disconnect()
      }
    },

    async settings(names) {
      const nodes = (client as { nodes?(role: 'master'): IoredisClient[] }).nodes?.('master') ?? [client]
      return Promise.all(
        nodes.map(async (node) => {
          const answers = await Promise.all(names.map((name) => node.config('GET', name)))
          return new Map(answers.flatMap((answer) => [...settingsOf(answer)]))
        }),
      )
    },

    dropSilent(silentMs) {
      wait.endSilent(silentMs)
      for (const listener of listeners) listener.check()
    },

    async close() {
      subscribers.forEach((subscriber) => subscriber.disconnect())
    },
  }
}

interface Connected {
  readonly stream?: { destroy?(): unknown } | undefined
  ping?(): Promise<unknown>
}

// The client must not subscribe anew by itself: it leaves the promise of that call unhandled. If the
// connection is closed meanwhile, that ends the process. The subscriber of a cluster handles it.
function duplicateOf(client: IoredisClient & { isCluster?: boolean }): IoredisSubscriber {
  if (client.isCluster) return client.duplicate() as IoredisSubscriber
  const single = client as { duplicate(override: object): object }
  return single.duplicate({ autoResubscribe: false }) as IoredisSubscriber
}

// A cluster does not show which of its connections was silent.
function breakOffSilent(client: object): void {
  const nodes = (client as { nodes?(): Connected[] }).nodes?.()
  if (nodes === undefined) return breakOff(client)
  for (const node of nodes) {
    void reviveIfSilent({ ping: async () => node.ping?.(), revive: () => breakOff(node) })
  }
}

// The client reconnects, subscribes again, and repeats the commands that got no response.
function breakOff(client: object): void {
  ;(client as Connected).stream?.destroy?.()
}

// We pass one list, which the client expands itself: a call takes some ten thousand arguments at most.
function together(keyspace: RedisKeyspace, values: readonly string[]): string[] {
  return [[...keyspace, ...values]] as unknown as string[]
}
