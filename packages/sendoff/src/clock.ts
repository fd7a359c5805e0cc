/** The engine's source of time and timers. Tests pass in one that they move themselves. */
export interface Clock {
  /** Epoch milliseconds of this process, for time stamps and for display. Never used to judge leases. */
  now(): number
  /** Milliseconds that only rise, for judging leases and for measuring. */
  monotonic(): number
  /** Calls back once, after `ms` milliseconds. `keepAlive` keeps the process alive until then. */
  schedule(ms: number, callback: () => void, keepAlive?: 'keepAlive'): Cancel
}

/** Cancels what was scheduled. */
export type Cancel = () => void

// A longer delay would overflow, and the timer would fire at once.
const longestTimerMs = 2 ** 31 - 1

/** The clock and timers of this process. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),

  schedule(ms, callback, keepAlive) {
    const timer = setTimeout(callback, Math.min(ms, longestTimerMs))
    if (keepAlive === undefined) timer.unref()
    return () => clearTimeout(timer)
  },
}
