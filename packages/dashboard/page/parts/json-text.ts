/** A piece of a JSON text, and what it is. */
export interface JsonPiece {
  readonly kind: 'name' | 'string' | 'number' | 'word' | 'mark'
  readonly text: string
}

/**
 * Lays out a JSON text over lines. Works on the text itself, so that a number such as 9007199254740993 stays as
 * it was stored. Returns the text as one piece if it is not JSON.
 */
export function layOut(json: string): readonly JsonPiece[] {
  try {
    JSON.parse(json)
  } catch {
    return [{ kind: 'mark', text: json }]
  }
  const pieces: JsonPiece[] = []
  let depth = 0
  const line = (): string => `\n${'  '.repeat(depth)}`
  const tokens = [...json.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+/g)].map(
    ([token]) => token,
  )
  tokens.forEach((token, index) => {
    const next = tokens[index + 1]
    if (token === '{' || token === '[') {
      depth++
      const isEmpty = next === '}' || next === ']'
      pieces.push({ kind: 'mark', text: isEmpty ? token : token + line() })
    } else if (token === '}' || token === ']') {
      depth--
      const before = tokens[index - 1]
      pieces.push({ kind: 'mark', text: before === '{' || before === '[' ? token : line() + token })
    } else if (token === ',') pieces.push({ kind: 'mark', text: `,${line()}` })
    else if (token === ':') pieces.push({ kind: 'mark', text: ': ' })
    else if (token.startsWith('"')) pieces.push({ kind: next === ':' ? 'name' : 'string', text: token })
    else pieces.push({ kind: /^[-\d]/.test(token) ? 'number' : 'word', text: token })
  })
  return pieces
}

/** Writes bytes as lines of a hex dump. */
export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += 16) {
    const row = bytes.subarray(at, at + 16)
    const hex = [...row].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = [...row].map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join('')
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text}`)
  }
  return lines.join('\n')
}
