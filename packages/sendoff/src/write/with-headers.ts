import { maxHeaderBytes } from '../event/event-envelope.ts'
import type { HeadersOfWrite } from '../observe/write-context.ts'
import type { NewRow } from '../store/index.ts'

/**
 * Returns the rows with the headers of the context. An event's own headers win. Headers that would make the
 * row too large are left out: a write must not fail because of its context.
 */
export function withHeaders(
  rows: readonly NewRow[],
  { headers, leftOut }: HeadersOfWrite,
): readonly NewRow[] {
  if (Object.keys(headers).length === 0) return rows
  const alone = JSON.stringify(headers)
  return rows.map((row) => {
    const merged =
      row.headers === null ? alone : JSON.stringify({ ...headers, ...(JSON.parse(row.headers) as object) })
    if (Buffer.byteLength(merged) <= maxHeaderBytes) return { ...row, headers: merged }
    leftOut()
    return row
  })
}
