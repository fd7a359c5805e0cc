import { type Clock, systemClock } from '../clock.ts'
import type { Announcer } from './announcer.ts'
import { WakeTimes } from './wake-times.ts'
import type { Waker } from './waker.ts'

/** Options of a `PollerAlarm`. */
export interface PollerAlarmOptions {
  /** The clock of the poller. */
  readonly clock?: Clock
  /** Wakes other processes; by default none. */
  readonly announcer?: Pick<Announcer, 'announce'>
}

/** The partitions of this process. */
export interface PartitionShare {
  ownsOneOf(partitions: readonly number[]): boolean
}

/**
 * Wakes a poller: the poller waits on it, and other parts ring it. It knows no part of the engine, so it can
 * be made before all of them.
 */
export class PollerAlarm implements Waker {
  readonly #clock: Clock
  readonly #announcer: Pick<Announcer, 'announce'> | undefined
  readonly #times = new WakeTimes()
  #share: PartitionShare | undefined
  #isWoken = false
  #hasRoom = false
  /** Whether rows may have become due since the last `takeNews`. */
  #hasNews = false
  #onRing: (() => void) | undefined

  constructor({ clock = systemClock, announcer }: PollerAlarmOptions = {}) {
    this.#clock = clock
    this.#announcer = announcer
  }

  wake(inMs = 0, partitions?: readonly number[], stepMs?: number): void {
    if (partitions !== undefined && this.#share?.ownsOneOf(partitions) === false) return
    if (inMs > 0) this.#times.add(this.#clock.monotonic() + inMs, stepMs)
    else this.#isWoken = this.#hasNews = true
    this.ring()
  }

  resume(): void {
    this.#hasRoom = true
    this.ring()
  }

  announce(partitions?: readonly number[], inMs?: number): void {
    this.#announcer?.announce(partitions, inMs)
  }

  /** From now on, a wake-up for partitions counts only if this process owns one of them. */
  limitTo(share: PartitionShare): void {
    this.#share = share
  }

  /** Ends the pause of the poller, whether there is a reason or not. */
  ring(): void {
    this.#onRing?.()
  }

  /** Sets the callback of every ring, in place of the one before. */
  onRing(listener: (() => void) | undefined): void {
    this.#onRing = listener
  }

  /** Whether there is a reason to end the pause now. */
  get isSet(): boolean {
    return this.#isWoken || this.#hasRoom
  }

  /** The next moment at which a row is known to fall due, by the monotonic clock. */
  get nextTime(): number | undefined {
    return this.#times.next
  }

  /** Returns why the pause has ended: there is only `room` again, or rows may be `due`. */
  takeReason(): 'room' | 'due' {
    const isDue = this.#times.passed(this.#clock.monotonic())
    const isOnlyRoom = this.#hasRoom && !this.#isWoken && !isDue
    this.#isWoken = this.#hasRoom = false
    return isOnlyRoom ? 'room' : 'due'
  }

  /**
   * Returns whether rows may have become due since the last call. If one has just fallen due, the alarm is
   * set again.
   */
  takeNews(): boolean {
    if (this.#times.passed(this.#clock.monotonic())) this.wake()
    const hasNews = this.#hasNews
    this.#hasNews = false
    return hasNews
  }
}
