import type { RedisKeyspace } from '../redis-keyspace.ts'
import type { Script } from '../scripts/script.ts'

/** One way to talk to Redis. */
export interface RedisDriver {
  /** Runs a script by its hash, or by its text if the server does not have it yet. */
  run(script: Script, keyspace: RedisKeyspace, values: readonly string[]): Promise<unknown>

  /** Returns a new MULTI. Nothing of it is sent before `exec`. */
  multi(): object

  /** Adds a script to a MULTI by its text: by hash, a missing script would not stop the other commands. */
  queue(multi: object, script: Script, keyspace: RedisKeyspace, values: readonly string[]): void

  /**
   * Sends a MULTI. Returns the results of its commands, errors among them. Rejects if none was run, or if
   * that is unknown.
   */
  exec(multi: object): Promise<readonly unknown[]>

  /** Whether this is a MULTI of such a client that has not been sent. */
  isOpenMulti(tx: object): boolean

  /**
   * Calls back at every message, and whenever some may have been missed, until the returned function is
   * called.
   */
  subscribe(channel: string, callback: (text?: string) => void): Promise<() => Promise<void>>

  /**
   * Returns the settings with these names, for each server that is asked; undefined if it does not reveal
   * them.
   */
  settings(names: readonly string[]): Promise<readonly ReadonlyMap<string, string>[]>

  /** Ends silent connections, as `dropSilent` of a store does. */
  dropSilent(silentMs: number): void

  /** Ends what the driver itself has opened, except subscriptions. */
  close(): Promise<void>
}

/** Runs a script by its hash and, if the server does not know it, by its text. */
export async function runKnown(
  byHash: () => Promise<unknown>,
  byText: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await byHash()
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return byText()
    throw error
  }
}

/** Reads the settings of a reply that is a map, an object, or names and values in turn. */
export function settingsOf(answer: unknown): ReadonlyMap<string, string> {
  if (Array.isArray(answer)) {
    const pairs = answer.flatMap((name, index): [string, string][] =>
      index % 2 === 0 ? [[String(name), String(answer[index + 1])]] : [],
    )
    return new Map(pairs)
  }
  return new Map(Object.entries((answer ?? {}) as Record<string, string>))
}
