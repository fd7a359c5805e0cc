import { maxHeaderBytes } from '../event/event-envelope.ts'
import type { HeadersOfWrite } from '../observe/write-context.ts'
import type { NewRow } from '../store/index.ts'

/**
 * Returns the rows with the headers of the context. An event's own headers win. A header that would make the
 * row too large is left out: a write must not fail because of its context.
 */
export function withHeaders(rows: readonly NewRow[], write: HeadersOfWrite): readonly NewRow[] {
  const { headers } = write
  if (Object.keys(headers).length === 0) return rows
  const alone = JSON.stringify(headers)
  return rows.map((row) => {
    const own = row.headers === null ? {} : (JSON.parse(row.headers) as Record<string, string>)
    const merged = row.headers === null ? alone : JSON.stringify({ ...headers, ...own })
    return { ...row, headers: isTooLarge(merged) ? fitting(own, write) : merged }
  })
}

/** Returns the headers of an event with those of the context that fit, one after the other. */
function fitting(own: Record<string, string>, { headers, leftOut }: HeadersOfWrite): string | null {
  let found = own
  for (const [name, value] of Object.entries(headers)) {
    if (Object.hasOwn(own, name)) continue
    const more = { ...found, [name]: value }
    if (isTooLarge(JSON.stringify(more))) leftOut(name)
    else found = more
  }
  const json = JSON.stringify(found)
  return json === '{}' ? null : json
}

function isTooLarge(json: string): boolean {
  return Buffer.byteLength(json) > maxHeaderBytes
}
