import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../guard/refusal.ts'

/** Options of `SharedReads`. */
export interface SharedReadsOptions {
  /** How long a visitor waits for the database, in milliseconds. */
  readonly timeLimitMs: number
  /** How many calls may run at the same time. */
  readonly maxAtOnce: number
  /** How many further calls may wait for their turn. */
  readonly maxWaiting: number
}

interface Kept {
  readonly value: Promise<unknown>
  /** When it may no longer be shown; Infinity while it is being read. */
  until: number
}

const maxKept = 500

/**
 * The calls of all visitors to the database of one outbox.
 *
 * Visitors who want the same at the same time share one read. Only a few calls run at once, however many
 * requests there are, and a call that hangs keeps its place: a database that is down gets no flood of calls.
 */
export class SharedReads {
  readonly #options: SharedReadsOptions
  readonly #kept = new Map<string, Kept>()
  readonly #waiting = new Set<() => void>()
  #running = 0

  constructor(options: SharedReadsOptions) {
    this.#options = options
  }

  /** How many results are in memory. */
  get keptCount(): number {
    return this.#kept.size
  }

  /** Returns what `load` returns, or what it returned for the same name less than `keepMs` ago. */
  read<Value>(name: string, keepMs: number, load: () => Promise<Value>): Promise<Value> {
    const known = this.#kept.get(name)
    if (known !== undefined && known.until > performance.now())
      return this.#inTime(known.value as Promise<Value>)

    const value = this.#inTurn(load)
    const kept: Kept = { value, until: Infinity }
    this.#kept.delete(name)
    this.#kept.set(name, kept)
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value!)
    const forget = (): void => {
      if (this.#kept.get(name) === kept) this.#kept.delete(name)
    }
    value.then(() => {
      kept.until = performance.now() + keepMs
      // Results that no page asks for again must not stay in memory: a page of events has their payloads.
      if (keepMs === 0) forget()
      else setTimeout(forget, keepMs).unref()
    }, forget)
    return this.#inTime(value)
  }

  /**
   * Runs an action. What was read before is forgotten, so that the visitor sees the effect. An action that
   * cannot begin in time never begins: the visitor has been told so, and may have asked for it again.
   */
  async act<Value>(work: () => Promise<Value>): Promise<Value> {
    let hasBegun = false
    const begin = (): Promise<Value> => {
      hasBegun = true
      return work()
    }
    try {
      return await this.#inTime(this.#inTurn(begin), () =>
        hasBegun ? 'The action may still take effect: look at its result before you try again.' : notBegun,
      )
    } finally {
      this.forget()
    }
  }

  /** Forgets what was read. */
  forget(): void {
    this.#kept.clear()
  }

  async #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#running >= this.#options.maxAtOnce) {
      await this.#turn()
    } else {
      this.#running++
    }
    try {
      return await work()
    } finally {
      const [next] = this.#waiting
      if (next === undefined) this.#running--
      else {
        this.#waiting.delete(next)
        next()
      }
    }
  }

  /** Waits for a place, as long as visitors wait. */
  #turn(): Promise<void> {
    const { timeLimitMs, maxWaiting } = this.#options
    if (this.#waiting.size >= maxWaiting) {
      throw new Refusal(503, 'BUSY', 'Too many requests wait for the database. Try again in a moment.')
    }
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(late)
        resolve()
      }
      const late = setTimeout(() => {
        this.#waiting.delete(begin)
        reject(silent(timeLimitMs, notBegun))
      }, timeLimitMs).unref()
      this.#waiting.add(begin)
    })
  }

  async #inTime<Value>(
    value: Promise<Value>,
    advice = () => 'Check that it runs, then try again.',
  ): Promise<Value> {
    const over = new AbortController()
    const { timeLimitMs } = this.#options
    const late = sleep(timeLimitMs, undefined, { signal: over.signal, ref: false }).then(() => {
      throw silent(timeLimitMs, advice())
    })
    late.catch(() => {})
    try {
      return await Promise.race([value, late])
    } finally {
      over.abort()
    }
  }
}

const notBegun = 'Nothing was done. Check that it runs, then try again.'

function silent(timeLimitMs: number, advice: string): Refusal {
  const text = `The database has not answered within ${timeLimitMs / 1_000} s. ${advice}`
  return new Refusal(503, 'DATABASE_SILENT', text)
}
