import type { Clock } from '../clock.ts'
import { checkOptions, durationOrZero, invalidOption, type OptionCheck } from '../options.ts'

/** Options of `fakeClock`. */
export interface FakeClockOptions {
  /** The time at the start, as a `Date` or in epoch milliseconds: the real one where left out. */
  readonly now?: Date | number
}

/**
 * Time that stands still until a test moves it. The engine takes it as its `clock`, a store takes
 * its `now`, and both then live in the same time.
 */
export interface FakeClock extends Clock {
  /** Epoch milliseconds: `memoryStore({ now: clock.now })`. */
  readonly now: () => number

  /**
   * Moves the time by `ms`. Whatever is scheduled on the way runs at its own time and in order, and
   * what it sets in motion gets its turn before time moves on. Work that waits for something
   * outside of the process, such as a socket, is not waited for.
   */
  advance(ms: number): Promise<void>
}

/** What a callback begins may go through the event loop: a poll and the dispatch of what it found take two turns. */
const turnsPerStep = 5

/** Creates a clock whose time stands still until a test moves it. */
export function fakeClock(options: FakeClockOptions = {}): FakeClock {
  checkOptions('fakeClock', options, { now: time })
  const start = Number(options.now ?? Date.now())
  const timers = new Set<FakeTimer>()
  let elapsed = 0
  let lastAdvance = Promise.resolve()

  return {
    now: () => start + elapsed,
    monotonic: () => elapsed,

    schedule(ms, callback) {
      const timer = { at: elapsed + Math.max(0, ms), callback }
      timers.add(timer)
      return () => void timers.delete(timer)
    },

    advance(ms) {
      if (durationOrZero(ms) !== undefined) {
        return Promise.reject(invalidOption('advance()', 'ms', ms, durationOrZero))
      }
      // One at a time: two at once would run each other's timers too early.
      const advance = lastAdvance.then(() => moveTo(elapsed + ms))
      lastAdvance = advance.catch(() => {})
      return advance
    },
  }

  async function moveTo(end: number): Promise<void> {
    await turns()
    for (let next = earliest(timers, end); next !== undefined; next = earliest(timers, end)) {
      timers.delete(next)
      elapsed = Math.max(elapsed, next.at)
      next.callback()
      await turns()
    }
    elapsed = end
  }
}

interface FakeTimer {
  readonly at: number
  readonly callback: () => void
}

/** The first to fall due until `end`; of several at the same time the one that was scheduled first. */
function earliest(timers: Iterable<FakeTimer>, end: number): FakeTimer | undefined {
  let first: FakeTimer | undefined
  for (const timer of timers) if (timer.at <= end && timer.at < (first?.at ?? Infinity)) first = timer
  return first
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < turnsPerStep; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const time: OptionCheck = (value) =>
  (value instanceof Date || typeof value === 'number') && Number.isFinite(Number(value))
    ? undefined
    : 'a valid Date or a number of milliseconds since 1970'
