/** How long a lock lasts, and how long before its end it is renewed, in milliseconds. */
export interface LockTimes {
  readonly ttlMs: number
  readonly renewMarginMs: number
}

/** The times of a lock that a process holds as long as it runs. */
export function usualLockTimes(leaseMs: number): LockTimes {
  return { ttlMs: leaseMs, renewMarginMs: leaseMs / 2 }
}
