/** The engine's source of time and timers. Tests pass in one that they move themselves. */
export interface Clock {
  /** Epoch milliseconds of this process, for time stamps and for display. Never used to judge leases. */
  now(): number
  /** Milliseconds that only rise, for judging leases and for measuring. */
  monotonic(): number
  /** Calls back once, after `ms` milliseconds. `keepAlive` keeps the process alive until then. */
  schedule(ms: number, callback: () => void, keepAlive?: 'keepAlive'): Cancel
  /** Calls back once, in a later turn of the event loop. Timers and answers that are ready come first. */
  defer(callback: () => void): void
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

  defer: (callback) => void setImmediate(callback),
}

/** Resolves in a later turn of the event loop. */
export function nextTurn(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.defer(resolve))
}

/** Resolves after `ms` milliseconds, or when the signal aborts. Keeps the process alive until then. */
export function delay(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.schedule(ms, end, 'keepAlive')
    signal?.addEventListener('abort', end)
  })
}
