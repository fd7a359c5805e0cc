/** Turns payloads and headers into JSON text and back. */
export interface JsonCodec {
  toJson(value: unknown): string | undefined
  fromJson(json: string): unknown
}

const builtIn: JsonCodec = {
  toJson: (value) => JSON.stringify(value),
  fromJson: (json) => JSON.parse(json) as unknown,
}

let current = builtIn

/** The default codec of the process. */
export const JsonCodec = {
  /** Returns the codec that is used where none is given. */
  getDefault(): JsonCodec {
    return current
  },

  /** Replaces the default codec of the whole process. Without an argument, restores the built-in one. */
  setDefault(codec: JsonCodec = builtIn): void {
    current = codec
  },

  /** Parses a JSON object of strings. Null, undefined, blank text and `null` give an empty map. */
  parseStringMap(json: string | null | undefined, codec: JsonCodec = current): Record<string, string> {
    if (json === null || json === undefined || json.trim() === '' || json.trim() === 'null') return {}

    const map = codec.fromJson(json)
    if (!isStringMap(map)) throw new TypeError('expected a JSON object whose values are strings')
    return map
  },
}

function isStringMap(value: unknown): value is Record<string, string> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((item) => typeof item === 'string')
  )
}
