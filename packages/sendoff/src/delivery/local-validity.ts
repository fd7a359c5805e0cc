/**
 * Until when this process may rely on a lease or lock that it asked for at `askedAt`, by its own
 * monotonic clock.
 *
 * The database counts from a later moment, so that this ends first; but it may count in whole
 * milliseconds, and the two clocks may not run at quite the same speed. Hence a twentieth less.
 */
export function validUntil(askedAt: number, grantedMs: number): number {
  return askedAt + grantedMs * 0.95
}
