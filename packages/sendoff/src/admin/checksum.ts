import { hash } from 'node:crypto'

/**
 * Returns a checksum of a plain value that does not depend on the order of its keys. It shows that a value
 * was altered, or was made for another table. It is no signature: an operator could make one, too.
 */
export function checksumOf(value: unknown): string {
  return hash('sha256', JSON.stringify(sorted(value))).slice(0, 32)
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)]),
  )
}
