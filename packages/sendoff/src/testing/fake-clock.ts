import type { Clock } from '../clock.ts'
import { checkOptions, durationOrZero, invalidOption, type OptionCheck } from '../options.ts'

/** Options of `fakeClock`. */
export interface FakeClockOptions {
  /** Time at the start, as a `Date` or in epoch ms: the real time by default. */
  readonly now?: Date | number
}

/**
 * A clock that stands still until a test moves it. Give it to the engine as `clock`, and its `now` to a
 * store, so that both share one time.
 */
export interface FakeClock extends Clock {
  /** Current time, in epoch ms: `memoryStore({ now: clock.now })`. */
  readonly now: () => number

  /**
   * Moves the time by `ms`. Every timer on the way runs at its own time and in order, and the work it starts
   * gets its turn before time moves on. It does not wait for anything outside the process, such as a socket.
   */
  advance(ms: number): Promise<void>
}

/** Turns of the event loop after each timer: a poll and the dispatch of its rows take two. */
const turnsPerStep = 5

/** Makes a clock that stands still until a test moves it. */
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

    defer: (callback) => void setImmediate(callback),

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

/** Returns the first timer due until `end`; of several at the same time, the one that was scheduled first. */
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
