import { OutboxError } from '../errors.ts'

/**
 * The responses that a store waits for, each on a connection. If one does not come in time, the store ends
 * its connection. All calls that wait there then fail, and the client opens a new connection.
 */
export class ConnectionWaits {
  readonly #waits = new Set<ConnectionWait>()

  /** Watches over a connection until the caller closes the returned wait. `end` breaks the connection. */
  open(end: () => void): ConnectionWait {
    const wait = new ConnectionWait(end, () => this.#waits.delete(wait))
    this.#waits.add(wait)
    return wait
  }

  /**
   * Ends the connections on which a response has been missing for about `silentMs` milliseconds. Half of that
   * is enough: a call may have got some responses before the one that it waits for.
   */
  endSilent(silentMs: number): void {
    const latest = performance.now() - silentMs / 2
    for (const wait of [...this.#waits]) if (wait.since <= latest) wait.end()
  }
}

/** The waits on one connection. */
export class ConnectionWait {
  /** When the connection last responded to a call that waits; Infinity if none waits. */
  since = Infinity
  isEnded = false
  readonly close: () => void
  readonly #end: () => void
  #waiting: ((error: Error) => void)[] = []

  constructor(end: () => void, close: () => void) {
    this.#end = end
    this.close = close
  }

  /** Passes a response on. Rejects as soon as the connection is ended. */
  answer<Answer>(call: PromiseLike<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push(reject) === 1) this.since = performance.now()
      call.then(
        (answer) => {
          this.#heard(reject)
          resolve(answer)
        },
        (error: unknown) => {
          this.#heard(reject)
          reject(error)
        },
      )
    })
  }

  /** Breaks the connection. All calls that wait on it fail. */
  end(): void {
    this.isEnded = true
    this.since = Infinity
    const error = new OutboxError(
      'OUTBOX_STORE_SILENT',
      'The database did not respond in time. Its connection was closed.',
    )
    this.#waiting.forEach((reject) => reject(error))
    this.#end()
  }

  #heard(reject: (error: Error) => void): void {
    if (this.#waiting.length === 1) this.#waiting.length = 0
    else this.#waiting = this.#waiting.filter((each) => each !== reject)
    this.since = this.#waiting.length === 0 || this.isEnded ? Infinity : performance.now()
  }
}

/** The idle connections of a pool, and when each last responded. */
export class IdleConnections<Connection extends Closable> {
  readonly #heardAt = new Map<Connection, number>()
  readonly #known = new WeakSet<Connection>()

  released(connection: Connection): void {
    this.#heardAt.set(connection, performance.now())
    if (this.#known.has(connection)) return
    this.#known.add(connection)
    connection.once('end', () => this.#heardAt.delete(connection))
  }

  acquired(connection: Connection): void {
    this.#heardAt.delete(connection)
  }

  /** Removes and returns the connections that have not responded for `silentMs` milliseconds. */
  takeSilent(silentMs: number): readonly Connection[] {
    const latest = performance.now() - silentMs
    const silent = [...this.#heardAt].flatMap(([connection, heardAt]) =>
      heardAt <= latest ? connection : [],
    )
    silent.forEach((connection) => this.#heardAt.delete(connection))
    return silent
  }
}

interface Closable {
  once(event: 'end', listener: () => void): unknown
}
