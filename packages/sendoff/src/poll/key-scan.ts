import type { Clock } from '../clock.ts'
import type { DuePlace } from '../store/index.ts'

/** After a scan that found little, the pause is this many times as long as the time that the scan wasted. */
const pauseShare = 20

/** A scan that wastes no more than this many milliseconds needs no pause. */
const shortMs = 5

/**
 * Decides where a scan of due rows for ordering keys begins.
 *
 * A scan from the start finds every key. It takes long if many rows at the front belong to keys that are
 * blocked or known already. Until a pause is over, scans then cover only the rows that fell due since.
 */
export class KeyScan {
  readonly #clock: Clock
  readonly #longestPauseMs: number
  #place: DuePlace | 'start' | 'nowhere' = 'nowhere'
  /** Where the last scan ended. Rows that fall due from now on come after it. */
  #end: DuePlace | undefined
  #wastedMs = 0
  #isFullLook = false
  #isWantedAgain = false
  #nextFullLook = -Infinity

  /** The pause is at most `longestPauseMs` milliseconds. */
  constructor(clock: Clock, longestPauseMs = Infinity) {
    this.#clock = clock
    this.#longestPauseMs = longestPauseMs
  }

  /** Where the scan continues: at a place, at the `start`, or `nowhere` if no scan is under way. */
  get from(): DuePlace | 'start' | 'nowhere' {
    return this.#place
  }

  /** Whether a caller asked for another scan during the last one, which may have begun too early for it. */
  get isWantedAgain(): boolean {
    return this.#isWantedAgain && this.#place === 'nowhere'
  }

  /**
   * Begins a scan. If one is under way, another is wanted after it. If this scan does not begin at the start,
   * returns how many milliseconds to wait before one that does.
   */
  begin(): number | undefined {
    this.#isWantedAgain = this.#place !== 'nowhere'
    if (this.#isWantedAgain) return undefined
    const waitMs = this.#nextFullLook - this.#clock.monotonic()
    this.#isFullLook = this.#end === undefined || waitMs <= 0
    this.#place = this.#isFullLook ? 'start' : this.#end!
    return this.#isFullLook ? undefined : waitMs
  }

  /** Makes the next scan begin at the start, without a pause. */
  startOver(): void {
    this.#end = undefined
    this.#nextFullLook = -Infinity
    if (this.#place !== 'nowhere') this.#isWantedAgain = true
  }

  /** Continues the scan from `next`, or ends it. `wastedMs` is the time it took to find nothing. */
  cameTo(next: DuePlace | undefined, wastedMs: number): void {
    this.#wastedMs += wastedMs
    if (next !== undefined) {
      this.#place = this.#end = next
      return
    }
    this.#place = 'nowhere'
    if (this.#isFullLook && this.#wastedMs > shortMs) {
      const pauseMs = Math.min(this.#wastedMs * pauseShare, this.#longestPauseMs)
      this.#nextFullLook = this.#clock.monotonic() + pauseMs
    }
    this.#wastedMs = 0
  }
}
