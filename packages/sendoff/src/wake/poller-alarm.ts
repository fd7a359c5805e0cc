import { type Clock, systemClock } from '../clock.ts'
import type { Announcer } from './announcer.ts'
import { WakeTimes } from './wake-times.ts'
import type { Waker } from './waker.ts'

/** Options of a `PollerAlarm`. */
export interface PollerAlarmOptions {
  /** That of the poller. */
  readonly clock?: Clock
  /** Wakes other processes; none are woken where left out. */
  readonly announcer?: Pick<Announcer, 'announce'>
}

/** The partitions of this process. */
export interface PartitionShare {
  ownsOneOf(partitions: readonly number[]): boolean
}

/**
 * The poller waits on it, and everything else rings it. It knows no part of the engine, so that it can be made before all of
 * them.
 */
export class PollerAlarm implements Waker {
  readonly #clock: Clock
  readonly #announcer: Pick<Announcer, 'announce'> | undefined
  readonly #times = new WakeTimes()
  #share: PartitionShare | undefined
  #isWoken = false
  #hasRoom = false
  /** Something may have become due since the poller has taken the news. */
  #hasNews = false
  #onRing: (() => void) | undefined

  constructor({ clock = systemClock, announcer }: PollerAlarmOptions = {}) {
    this.#clock = clock
    this.#announcer = announcer
  }

  wake(inMs = 0, partitions?: readonly number[]): void {
    if (partitions !== undefined && this.#share?.ownsOneOf(partitions) === false) return
    if (inMs > 0) this.#times.add(this.#clock.monotonic() + inMs)
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

  /** From now on a wake-up for partitions counts only where one of them is this process's own. */
  limitTo(share: PartitionShare): void {
    this.#share = share
  }

  /** Has the poller look up from its pause, whether there is a reason or not. */
  ring(): void {
    this.#onRing?.()
  }

  /** Has `listener` called with every ring, instead of the one before. */
  onRing(listener: (() => void) | undefined): void {
    this.#onRing = listener
  }

  /** Whether there is a reason to end the pause now. */
  get isSet(): boolean {
    return this.#isWoken || this.#hasRoom
  }

  /** The next moment at which something is known to fall due, by the monotonic clock. */
  get nextTime(): number | undefined {
    return this.#times.next
  }

  /** Why the pause has ended: there is `room` again and nothing else, or something may be `due`. */
  takeReason(): 'room' | 'due' {
    const isDue = this.#times.passed(this.#clock.monotonic())
    const isOnlyRoom = this.#hasRoom && !this.#isWoken && !isDue
    this.#isWoken = this.#hasRoom = false
    return isOnlyRoom ? 'room' : 'due'
  }

  /** Whether something may have become due since the last call. Where it has just done so, there is a reason to poll again. */
  takeNews(): boolean {
    if (this.#times.passed(this.#clock.monotonic())) this.wake()
    const hasNews = this.#hasNews
    this.#hasNews = false
    return hasNews
  }
}
