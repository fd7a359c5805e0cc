interface RawJson {
  rawJSON(text: string): unknown
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
}

/**
 * Parses JSON so that `JSON.stringify` writes every number as it was: a number that JavaScript cannot hold
 * exactly stays as raw text.
 */
export function parseExactly(json: string): unknown {
  const raw = JSON as unknown as RawJson
  return raw.parse(json, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isExact(value, source)
      ? raw.rawJSON(source)
      : value,
  )
}

function isExact(value: number, source: string): boolean {
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+/, '')
  return Number.isFinite(value) && digits.length <= 15
}
