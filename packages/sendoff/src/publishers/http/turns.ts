/**
 * Limits how many requests to each origin run at a time. Further requests wait, and run in the order in which
 * they came.
 */
export class Turns {
  readonly #places: number
  readonly #origins = new Map<string, OriginTurns>()

  constructor(places: number) {
    this.#places = places
  }

  /**
   * Takes a place at once and returns undefined, or resolves when a place is free. Rejects if the signal
   * aborts before.
   */
  take(origin: string, signal: AbortSignal): Promise<void> | undefined {
    let turns = this.#origins.get(origin)
    if (turns === undefined) {
      turns = { taken: 0, waiting: new Set() }
      this.#origins.set(origin, turns)
    }
    if (turns.taken < this.#places) {
      turns.taken += 1
      return undefined
    }
    return waitIn(turns.waiting, signal)
  }

  /** Gives a place back, to the request that has waited longest. */
  leave(origin: string): void {
    const turns = this.#origins.get(origin)!
    const [next] = turns.waiting
    if (next !== undefined) {
      turns.waiting.delete(next)
      next()
      return
    }
    turns.taken -= 1
    if (turns.taken === 0) this.#origins.delete(origin)
  }
}

interface OriginTurns {
  taken: number
  readonly waiting: Set<() => void>
}

function waitIn(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = (): void => {
      signal.removeEventListener('abort', giveUp)
      resolve()
    }
    const giveUp = (): void => {
      waiting.delete(begin)
      reject(signal.reason as Error)
    }
    waiting.add(begin)
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
  })
}
