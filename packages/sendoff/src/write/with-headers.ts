import { maxHeaderBytes } from '../event/event-envelope.ts'
import type { NewRow } from '../store/index.ts'

/**
 * Returns the rows with these headers. An event's own headers win. Headers that would make the row too large
 * are left out: they come from the context, and a write must not fail because of it.
 */
export function withHeaders(
  rows: readonly NewRow[],
  headers: Readonly<Record<string, string>>,
): readonly NewRow[] {
  if (Object.keys(headers).length === 0) return rows
  const alone = JSON.stringify(headers)
  return rows.map((row) => {
    const merged =
      row.headers === null ? alone : JSON.stringify({ ...headers, ...(JSON.parse(row.headers) as object) })
    return Buffer.byteLength(merged) > maxHeaderBytes ? row : { ...row, headers: merged }
  })
}
