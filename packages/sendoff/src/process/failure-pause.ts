import type { Clock } from '../clock.ts'
import type { Outcome } from '../store/index.ts'

/** Options of `FailurePause`. */
export interface FailurePauseOptions {
  readonly clock: Clock
  readonly pauseMs: number
}

/**
 * This many failures in a row mean that every delivery fails. If only some fail, such long runs are rare, and
 * no delivery has to wait.
 */
const failuresInARow = 100

/**
 * Pauses the poller for a while when every delivery fails: those that it would begin meanwhile would fail as
 * well.
 */
export class FailurePause {
  readonly #options: FailurePauseOptions
  #inARow = 0
  #until = -Infinity
  #isAwaited = false

  constructor(options: FailurePauseOptions) {
    this.#options = options
  }

  /** Returns whether a delivery may begin now. If not, `again` is called when it may. */
  isOver(again: () => void): boolean {
    const { clock } = this.#options
    const leftMs = this.#until - clock.monotonic()
    if (leftMs <= 0) return true

    if (!this.#isAwaited) {
      this.#isAwaited = true
      clock.schedule(leftMs, () => {
        this.#isAwaited = false
        again()
      })
    }
    return false
  }

  /** Takes the outcome of every delivery, hot or cold. One success ends the pause. */
  ended({ kind }: Outcome): void {
    const { clock, pauseMs } = this.#options
    if (kind === 'done' || kind === 'delete') {
      this.#inARow = 0
      this.#until = -Infinity
    } else if (kind === 'retry' || kind === 'defer') {
      this.#inARow += 1
      if (this.#inARow < failuresInARow) return
      this.#inARow = 0
      this.#until = clock.monotonic() + pauseMs
    }
  }
}
