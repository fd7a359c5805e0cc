/**
 * Returns until when this process may rely on a lease or lock that it asked for at `askedAt`, by its own
 * monotonic clock.
 *
 * The database counts from a later moment, so this time ends first. But the database may count in whole
 * milliseconds, and the two clocks may differ in speed. So we take off a twentieth.
 */
export function validUntil(askedAt: number, grantedMs: number): number {
  return askedAt + grantedMs * 0.95
}
