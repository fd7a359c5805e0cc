import { type ConnectionWait, ConnectionWaits } from '../../connection-waits.ts'

/** How often a listening connection is checked, and how long a connection has to respond. */
const pingEveryMs = 60_000
const pingTimeoutMs = 1_000

/** A connection that can be checked and replaced. */
export interface Revivable {
  ping(): Promise<unknown>
  /** Ends the connection, and makes sure that there is a new one. */
  revive(): void
}

/** The waits of the store on one connection that all commands share. */
export class SharedWait {
  readonly #waits = new ConnectionWaits()
  readonly #onSilent: () => void
  #wait: ConnectionWait

  constructor(onSilent: () => void) {
    this.#onSilent = onSilent
    this.#wait = this.#open()
  }

  /** Passes a response on. Rejects when the connection is found to be silent. */
  answer<Answer>(call: Promise<Answer>): Promise<Answer> {
    return this.#wait.answer(call)
  }

  /** Passes a response on, however late: a client that reconnects repeats the command. */
  patiently<Answer>(call: Promise<Answer>): Promise<Answer> {
    this.#wait.answer(call).catch(() => {})
    return call
  }

  endSilent(silentMs: number): void {
    this.#waits.endSilent(silentMs)
  }

  #open(): ConnectionWait {
    return this.#waits.open(() => {
      this.#wait.close()
      this.#wait = this.#open()
      this.#onSilent()
    })
  }
}

/** Checks the connection, and replaces it if it does not respond. Never rejects. */
export async function reviveIfSilent(connection: Revivable): Promise<void> {
  const late = Promise.withResolvers<'silent'>()
  const timer = setTimeout(() => late.resolve('silent'), pingTimeoutMs).unref()
  // Any response, even an error, shows that the connection is not silent. A client without a connection is
  // about to make one by itself.
  const answered = connection.ping().catch(() => undefined)
  if ((await Promise.race([answered, late.promise])) === 'silent') connection.revive()
  clearTimeout(timer)
}

/** Checks a listening connection at intervals, and whenever `check` is called, until it is stopped. */
export function watchListener(connection: Revivable): ListenerWatch {
  const check = () => void reviveIfSilent(connection)
  const timer = setInterval(check, pingEveryMs).unref()
  return { check, stop: () => clearInterval(timer) }
}

export interface ListenerWatch {
  check(): void
  stop(): void
}
