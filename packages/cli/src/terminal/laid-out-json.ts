interface RawJson {
  rawJSON(text: string): unknown
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
}

/** Lays out JSON over several lines, with every number as it was written. Throws if the text is not JSON. */
export function laidOutJson(json: string): string {
  const raw = JSON as unknown as RawJson
  const exact = raw.parse(json, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? raw.rawJSON(source) : value,
  )
  return JSON.stringify(exact, undefined, 2)
}
