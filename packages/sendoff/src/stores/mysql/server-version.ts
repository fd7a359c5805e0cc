/** A server as its version tells it. */
export interface MysqlServer {
  /** The text of the version, as the server gives it. */
  readonly version: string
  readonly isTidb: boolean
  /** Whether it leaves out rows that another transaction has locked, when a statement says SKIP LOCKED. */
  readonly skipsLocked: boolean
}

/**
 * Reads the version of a server. TiDB accepts SKIP LOCKED and ignores it: no row is locked, and none is left
 * out. MySQL has it since 8.0.1, and MariaDB since 10.6.
 */
export function serverOf(version: string): MysqlServer {
  const isTidb = /tidb/i.test(version)
  return { version, isTidb, skipsLocked: !isTidb && hasSkipLocked(version) }
}

// The version of MariaDB may begin with 5.5.5-, for old replicas.
function hasSkipLocked(version: string): boolean {
  const numbers = /^(?:5\.5\.5-)?(\d+)\.(\d+)\.?(\d*)/.exec(version)
  // A proxy or a fork may have a version of any form, and its users chose a server of today.
  if (numbers === null) return true

  const first = version.includes('MariaDB') ? [10, 6, 0] : [8, 0, 1]
  // Some forks leave out the last number.
  const found = numbers.slice(1).map((number) => (number === '' ? Infinity : Number(number)))
  const differs = found.findIndex((number, index) => number !== first[index])
  return differs === -1 || found[differs]! > first[differs]!
}
