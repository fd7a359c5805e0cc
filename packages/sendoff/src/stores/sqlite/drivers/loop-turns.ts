/** A turn of the event loop may take this long before everything else has waited enough. */
const longestTurnMs = 10

/**
 * Knows when the event loop has last turned.
 *
 * SQLite answers at once, so that code which does nothing but wait for it never lets the event loop
 * turn: timers, sockets and the engine itself would starve behind a tight loop of transactions.
 */
export class LoopTurns {
  #lastTurn = performance.now()
  #isWatching = false

  /** Also asks to be told of the next turn. */
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
