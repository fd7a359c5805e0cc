import { type ConnectionWait, ConnectionWaits } from '../../connection-waits.ts'
import type { PgClient, PgPool, PgQuery, PgResult } from './postgres-client.ts'

const ignore = () => {}

/** The clients of a pool of `pg` on which the store waits. */
export class PgConnections {
  readonly #pool: PgPool
  readonly #waits = new ConnectionWaits()
  readonly #heardAt = new WeakMap<PgClient, number>()

  constructor(pool: PgPool) {
    this.#pool = pool
    const heard = (client: PgClient) => this.#heardAt.set(client, performance.now())
    pool.on('connect', heard)
    pool.on('release', (error, client) => {
      if (!error) heard(client)
    })
  }

  /**
   * Returns a client of the pool, and the wait for the store's own calls on it. The caller closes the wait.
   */
  async connect(): Promise<{ readonly client: PgClient; readonly wait: ConnectionWait }> {
    const connecting = this.#waits.open(() => this.#endConnecting())
    let client: PgClient
    try {
      const connected = this.#pool.connect()
      // A client that arrives after the wait has ended goes back to the pool.
      connected.then((late) => connecting.isEnded && late.release(), ignore)
      client = await connecting.answer(connected)
    } finally {
      connecting.close()
    }
    return { client, wait: this.#waits.open(() => breakOff(client)) }
  }

  /** Runs one statement on a client of the pool. */
  async run(query: PgQuery, values: (string | null)[]): Promise<PgResult> {
    const { client, wait } = await this.connect()
    let failure: Error | undefined
    try {
      return await wait.answer(answerOf(client, query, values))
    } catch (error) {
      failure = error as Error
      throw error
    } finally {
      wait.close()
      // As in the pool itself: a client that has failed is not used again.
      client.release(failure)
    }
  }

  /**
   * Ends the connections on which the store has waited for `silentMs` milliseconds, and idle clients that
   * have not responded since.
   */
  dropSilent(silentMs: number): void {
    this.#waits.endSilent(silentMs)
    const latest = performance.now() - silentMs
    const isSilent = (client: PgClient) => (this.#heardAt.get(client) ?? -Infinity) <= latest
    // We take idle clients out of the pool first: no other caller may get one that is about to end.
    for (let idle = this.#pool.idleCount ?? 0; idle > 0; idle--) {
      this.#pool.connect().then((client) => {
        client.release(isSilent(client))
        if (isSilent(client)) breakOff(client)
      }, ignore)
    }
  }

  // Without `connectionTimeoutMillis`, a connection attempt without response would keep its place in the pool
  // forever.
  #endConnecting(): void {
    const { _clients: clients } = this.#pool as { _clients?: unknown }
    if (!Array.isArray(clients)) return
    for (const client of clients as (PgClient & { readonly _connected?: boolean })[]) {
      if (client._connected === false) breakOff(client)
    }
  }
}

// We use a callback, as pools do. With the promises of clients, results survive the next garbage collections,
// which took 3 of 10 µs per event of a drain.
function answerOf(client: PgClient, query: PgQuery, values: (string | null)[]): Promise<PgResult> {
  return new Promise((resolve, reject) => {
    client.query(query, values, (error, result) => (error ? reject(error) : resolve(result)))
  })
}

/** Ends a connection without waiting for the server. All calls that wait on it fail. */
function breakOff(client: PgClient): void {
  client.connection?.stream?.destroy?.()
}
