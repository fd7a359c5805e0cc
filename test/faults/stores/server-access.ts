/** How a process of a run uses its database server. */
export interface ServerAccess {
  readonly url: string
  readonly poolSize: number
  /** After how long without a reply it gives up on its own, in ms; never if left out. */
  readonly timeoutMs?: number
  /** Whether all connections of its pool are opened at once. */
  readonly isFull?: boolean
}

/** Returns the address, with the slot's settings for its pool in it. */
export function locationOf({
  url,
  poolSize,
  timeoutMs,
  isFull,
}: Partial<ServerAccess> & { url: string }): string {
  const location = new URL(url)
  if (poolSize !== undefined) location.searchParams.set('pool', String(poolSize))
  if (timeoutMs !== undefined) location.searchParams.set('timeout_ms', String(timeoutMs))
  if (isFull === true) location.searchParams.set('full', 'true')
  return location.href
}

export function accessFrom(location: string): ServerAccess {
  const url = new URL(location)
  const { pool = '10', timeout_ms: timeoutMs, full } = Object.fromEntries(url.searchParams)
  url.searchParams.delete('pool')
  url.searchParams.delete('timeout_ms')
  url.searchParams.delete('full')
  return {
    url: url.href,
    poolSize: Number(pool),
    ...(timeoutMs !== undefined && { timeoutMs: Number(timeoutMs) }),
    isFull: full === 'true',
  }
}

/** Opens `count` connections at the same time and frees them, if there is a server. */
export function openAll(count: number, open: () => Promise<void>): void {
  for (let n = 0; n < count; n++) open().catch(() => {})
}
