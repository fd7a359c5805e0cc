import type { RedisKeyspace } from '../redis-keyspace.ts'
import type { Script } from '../scripts/script.ts'

/** What the store needs of a client. */
export interface RedisDriver {
  /** Runs a script by its hash, or by its text where the server does not have it yet. */
  run(script: Script, keyspace: RedisKeyspace, values: readonly string[]): Promise<unknown>

  /** A new MULTI, of which nothing is sent before `exec`. */
  multi(): object

  /** Adds a script to a MULTI by its text: one that is missing there would not stop the commands beside it. */
  queue(multi: object, script: Script, keyspace: RedisKeyspace, values: readonly string[]): void

  /** Sends a MULTI and returns what became of each command, errors among them. Rejects if none was run, or if that is unknown. */
  exec(multi: object): Promise<readonly unknown[]>

  /** Whether this is a MULTI of such a client that has not been sent. */
  isOpenMulti(tx: object): boolean

  /** Calls back at every message, and whenever some may have been missed, until it is told to stop. */
  subscribe(channel: string, callback: (text?: string) => void): Promise<() => Promise<void>>

  /** The server's settings of these names, of each server that is asked; undefined where it does not tell. */
  settings(names: readonly string[]): Promise<readonly ReadonlyMap<string, string>[]>

  /** Ends connections that are silent, as a store does. */
  dropSilent(silentMs: number): void

  /** Ends what the driver itself has opened, except for those who listen. */
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

/** The settings of an answer that is a map, an object, or names and values in turn. */
export function settingsOf(answer: unknown): ReadonlyMap<string, string> {
  if (Array.isArray(answer)) {
    const pairs = answer.flatMap((name, index): [string, string][] =>
      index % 2 === 0 ? [[String(name), String(answer[index + 1])]] : [],
    )
    return new Map(pairs)
  }
  return new Map(Object.entries((answer ?? {}) as Record<string, string>))
}
