/**
 * Returns the address of the trace that an event was written in, by a template such as
 * `https://traces.example.com/trace/{traceId}`. Returns null if the headers name no trace.
 */
export function traceLink(headers: string | null, template: string | undefined): string | null {
  if (headers === null || template === undefined) return null
  let traceparent: unknown
  try {
    traceparent = (JSON.parse(headers) as Record<string, unknown>)['traceparent']
  } catch {
    return null
  }
  const [, traceId, spanId] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-/.exec(String(traceparent)) ?? []
  if (traceId === undefined || spanId === undefined) return null
  return template.replaceAll('{traceId}', traceId).replaceAll('{spanId}', spanId)
}
