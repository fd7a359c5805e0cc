import type { Clock } from '../clock.ts'
import type { Outcome } from '../store/index.ts'

export interface FailurePauseOptions {
  readonly clock: Clock
  readonly pauseMs: number
}

/**
 * So many failures in a row, with nothing else in between, mean that everything fails. Where some fail and others do not, rows as
 * long as this are rare, and nobody is kept waiting.
 */
const failuresInARow = 100

/** Has the poller rest for a while when everything that is sent fails: what it sends meanwhile would fail as well. */
export class FailurePause {
  readonly #options: FailurePauseOptions
  #inARow = 0
  #until = -Infinity
  #isAwaited = false

  constructor(options: FailurePauseOptions) {
    this.#options = options
  }

  /** Whether something may be sent now. If not, `again` is called when it may. */
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

  /** To be told of every result, whoever has sent it. One success ends the pause. */
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
