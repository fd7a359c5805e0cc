import { type ConnectionWait, ConnectionWaits } from '../../connection-waits.ts'

/** How often a connection that only listens is asked for a sign of life, and how long one has for it. */
const pingEveryMs = 60_000
const pingTimeoutMs = 1_000

/** A connection that can be asked for a sign of life, and made anew. */
export interface Revivable {
  ping(): Promise<unknown>
  /** Ends it, and sees to it that there is another. */
  revive(): void
}

/** What the store waits for over one connection that all commands share. */
export class SharedWait {
  readonly #waits = new ConnectionWaits()
  readonly #onSilent: () => void
  #wait: ConnectionWait

  constructor(onSilent: () => void) {
    this.#onSilent = onSilent
    this.#wait = this.#open()
  }

  /** Passes an answer on. Rejects when the connection is found to be silent. */
  answer<Answer>(call: Promise<Answer>): Promise<Answer> {
    return this.#wait.answer(call)
  }

  /** Passes an answer on, however late: a client that connects again asks for it again. */
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

/** Asks for a sign of life, and makes the connection anew if there is none. Never rejects. */
export async function reviveIfSilent(connection: Revivable): Promise<void> {
  const late = Promise.withResolvers<'silent'>()
  const timer = setTimeout(() => late.resolve('silent'), pingTimeoutMs).unref()
  // Whatever it says, it is not silent. A client without a connection is about to make one by itself.
  const answered = connection.ping().catch(() => undefined)
  if ((await Promise.race([answered, late.promise])) === 'silent') connection.revive()
  clearTimeout(timer)
}

/** Asks a connection that only listens now and then, and whenever `check` is called, until it is told to stop. */
export function watchListener(connection: Revivable): ListenerWatch {
  const check = () => void reviveIfSilent(connection)
  const timer = setInterval(check, pingEveryMs).unref()
  return { check, stop: () => clearInterval(timer) }
}

export interface ListenerWatch {
  check(): void
  stop(): void
}
