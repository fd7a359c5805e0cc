/** How long a lock lasts, and how long before its end it is renewed. */
export interface LockTimes {
  readonly ttlMs: number
  readonly renewMarginMs: number
}

/** The times of a lock that is held for as long as its process runs. */
export function usualLockTimes(leaseMs: number): LockTimes {
  return { ttlMs: leaseMs, renewMarginMs: leaseMs / 2 }
}
