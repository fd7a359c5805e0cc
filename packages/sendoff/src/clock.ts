/** Time as the engine sees it; tests hand in one that they move themselves. */
export interface Clock {
  /** Epoch milliseconds of this process, for stamping and for showing; never for judging leases. */
  now(): number
  /** Milliseconds that only ever rise, for judging leases and measuring. */
  monotonic(): number
  /** Calls back once, after `ms`. `keepAlive` lets the process live until then. */
  schedule(ms: number, callback: () => void, keepAlive?: 'keepAlive'): Cancel
}

export type Cancel = () => void

// A longer delay would overflow and fire at once.
const longestTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),

  schedule(ms, callback, keepAlive) {
    const timer = setTimeout(callback, Math.min(ms, longestTimerMs))
    if (keepAlive === undefined) timer.unref()
    return () => clearTimeout(timer)
  },
}
