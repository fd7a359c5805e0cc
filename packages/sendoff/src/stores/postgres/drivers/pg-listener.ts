import { OutboxError } from '../../../errors.ts'
import type { PgPool } from './postgres-client.ts'

/** How often a listening connection is checked, and how long it has to respond. */
export interface PingTimes {
  readonly everyMs: number
  readonly timeoutMs: number
}

const pingTimes: PingTimes = { everyMs: 60_000, timeoutMs: 5_000 }

/** How long to wait, in milliseconds, for the server to end a connection that we close. */
const goodbyeMs = 500

const shortestPauseMs = 100
const longestPauseMs = 10_000

/** The part of a client of `pg` that a listener uses. */
interface ListeningClient {
  connect(): Promise<unknown>
  query(text: string): Promise<unknown>
  end(): Promise<void>
  on(event: 'notification', listener: (notification: { readonly payload?: string }) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  unref?(): void
  readonly connection?: { readonly stream?: { destroy(): void } }
}

type MakeClient = () => ListeningClient

/**
 * Listens on its own connections, made like those of the pool. A listener never gives its connection back,
 * and the pool may have only one.
 */
export class PgListeners {
  readonly #pool: PgPool
  readonly #ping: PingTimes
  readonly #listeners = new Set<PgListener>()

  constructor(pool: PgPool, ping = pingTimes) {
    this.#pool = pool
    this.#ping = ping
  }

  /** Resolves after the first attempt to connect, even if it failed: the listener tries again. */
  async listen(channel: string, callback: (text?: string) => void): Promise<() => Promise<void>> {
    const listener = new PgListener(clientMaker(this.#pool), channel, callback, this.#ping)
    this.#listeners.add(listener)
    await listener.connect()
    return async () => {
      this.#listeners.delete(listener)
      await listener.close()
    }
  }

  /** Checks every connection now, and replaces those that do not respond. */
  check(): void {
    for (const listener of this.#listeners) listener.check()
  }
}

/**
 * A connection that listens, and is replaced when it is lost.
 *
 * A connection can be dead without any error, so the listener checks it regularly. The listener calls its
 * owner after each connect, since signals may have been missed before. It does not keep the process alive.
 */
class PgListener {
  readonly #makeClient: MakeClient
  readonly #channel: string
  readonly #callback: (text?: string) => void
  readonly #pingTimes: PingTimes
  #client: ListeningClient | undefined
  #timer: NodeJS.Timeout | undefined
  #pauseMs = shortestPauseMs
  #isListening = false
  #closed = false

  constructor(makeClient: MakeClient, channel: string, callback: (text?: string) => void, ping: PingTimes) {
    this.#makeClient = makeClient
    this.#channel = channel
    this.#callback = callback
    this.#pingTimes = ping
  }

  /** Never rejects. */
  async connect(): Promise<void> {
    const client = this.#makeClient()
    this.#client = client
    client.on('notification', ({ payload }) => this.#callback(payload))
    client.on('error', () => this.#lost(client))
    client.on('end', () => this.#lost(client))
    try {
      await this.#inTime(client.connect())
      await this.#inTime(client.query(`listen "${this.#channel}"`))
      client.unref?.()
    } catch {
      this.#lost(client)
      return
    }
    if (this.#client !== client) return

    this.#isListening = true
    this.#pauseMs = shortestPauseMs
    this.#schedule(this.#pingTimes.everyMs, () => void this.#ping(client))
    this.#callback()
  }

  /** Checks the connection now. */
  check(): void {
    const client = this.#client
    if (client !== undefined && this.#isListening) void this.#ping(client)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    const client = this.#client
    this.#client = undefined
    if (client !== undefined) await this.#inTime(client.end(), goodbyeMs).catch(() => destroy(client))
  }

  async #ping(client: ListeningClient): Promise<void> {
    try {
      await this.#inTime(client.query('select 1'))
    } catch {
      this.#lost(client)
      return
    }
    if (this.#client === client) this.#schedule(this.#pingTimes.everyMs, () => void this.#ping(client))
  }

  #lost(client: ListeningClient): void {
    if (this.#client !== client) return
    this.#client = undefined
    this.#isListening = false
    destroy(client)

    // The pause is random: after a restart of the server, all processes would otherwise connect at once.
    this.#schedule(this.#pauseMs * (0.5 + Math.random()), () => void this.connect())
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2)
  }

  async #inTime<Result>(answer: Promise<Result>, timeoutMs = this.#pingTimes.timeoutMs): Promise<Result> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error('No response in time.')), timeoutMs).unref()
    try {
      return await Promise.race([answer, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  #schedule(ms: number, action: () => void): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(action, ms).unref()
  }
}

// We take the class of clients from the pool: `pg` itself cannot be imported here.
function clientMaker(pool: PgPool): MakeClient {
  const { Client, options } = pool as PgPool & { Client?: new (options: unknown) => ListeningClient }
  if (Client === undefined) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'This pool cannot make a connection to listen on. Use a Pool of pg, or set notify: false in postgresStore.',
    )
  }
  return () => new Client(options)
}

function destroy(client: ListeningClient): void {
  // `end` alone would wait for the server.
  client.connection?.stream?.destroy()
  client.end().catch(() => {})
}
