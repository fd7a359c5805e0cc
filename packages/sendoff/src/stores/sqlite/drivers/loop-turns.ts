/** How long, in milliseconds, database work may keep the event loop from turning. */
const longestTurnMs = 10

/**
 * Tracks when the event loop last turned.
 *
 * SQLite returns at once, so code that only waits for it never lets the event loop turn. Timers, sockets and
 * the engine itself would starve behind a tight loop of transactions.
 */
export class LoopTurns {
  #lastTurn = performance.now()
  #isWatching = false

  /** Whether the last turn was too long ago. Also asks for a callback at the next turn. */
  get isOverdue(): boolean {
    if (!this.#isWatching) {
      this.#isWatching = true
      this.#lastTurn = performance.now()
      setImmediate(() => (this.#isWatching = false)).unref()
    }
    return performance.now() - this.#lastTurn > longestTurnMs
  }

  next(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve))
  }
}
