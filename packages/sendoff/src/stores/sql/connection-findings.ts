import type { Finding } from '../../store/index.ts'

/** The share of all connections from which on they count as scarce. */
const scarceShare = 0.85

/** Returns a finding if nearly all connections of a server are in use. */
export function connectionFindings(used: number, allowed: number): readonly Finding[] {
  if (!(used >= allowed * scarceShare)) return []
  return [
    {
      code: 'CONNECTIONS_SCARCE',
      severity: 'warning',
      message: `${used} of ${allowed} connections are in use (max_connections). The next process may find none left.`,
      fix: 'Make the pools smaller, put a pooler before the server, or raise max_connections.',
    },
  ]
}
