import type { Clock } from '../clock.ts'
import type { DuePlace } from '../store/index.ts'

/** After a look through much that was of no use comes a pause of so many times what it took. */
const pauseShare = 20

/** What takes no longer is not worth a pause. */
const shortMs = 5

/**
 * Where to look for keys with something due.
 *
 * A look from the beginning finds everything. It takes long where many rows stand in front whose keys are blocked or in
 * hand already: then only what has become due since is looked at, until a while has passed.
 */
export class KeyScan {
  readonly #clock: Clock
  readonly #longestPauseMs: number
  #place: DuePlace | 'start' | 'nowhere' = 'nowhere'
  /** Where the last look ended: what falls due from now on comes behind it. */
  #end: DuePlace | undefined
  #wastedMs = 0
  #isFullLook = false
  #isWantedAgain = false
  #nextFullLook = -Infinity

  /** The pause is no longer than `longestPauseMs`, unless a look takes even longer. */
  constructor(clock: Clock, longestPauseMs = Infinity) {
    this.#clock = clock
    this.#longestPauseMs = longestPauseMs
  }

  /** `start` for the beginning, `nowhere` where there is nothing to look for. */
  get from(): DuePlace | 'start' | 'nowhere' {
    return this.#place
  }

  /** Whether something has happened that the look which is over may have come too early for. */
  get isWantedAgain(): boolean {
    return this.#isWantedAgain && this.#place === 'nowhere'
  }

  /**
   * Begins a look, unless one is under way: then another one is wanted behind it. Answers how long to wait for one from the
   * beginning, where this is none.
   */
  begin(): number | undefined {
    this.#isWantedAgain = this.#place !== 'nowhere'
    if (this.#isWantedAgain) return undefined
    const waitMs = this.#nextFullLook - this.#clock.monotonic()
    this.#isFullLook = this.#end === undefined || waitMs <= 0
    this.#place = this.#isFullLook ? 'start' : this.#end!
    return this.#isFullLook ? undefined : waitMs
  }

  /** Goes on from `next`, or ends the look. `wastedMs` is what it took to find nothing. */
  cameTo(next: DuePlace | undefined, wastedMs: number): void {
    this.#wastedMs += wastedMs
    if (next !== undefined) {
      this.#place = this.#end = next
      return
    }
    this.#place = 'nowhere'
    if (this.#isFullLook && this.#wastedMs > shortMs) {
      const pauseMs = Math.min(this.#wastedMs * pauseShare, this.#longestPauseMs)
      this.#nextFullLook = this.#clock.monotonic() + Math.max(pauseMs, this.#wastedMs)
    }
    this.#wastedMs = 0
  }
}
