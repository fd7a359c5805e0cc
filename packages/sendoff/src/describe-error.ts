/**
 * An error as text that starts with its class and follows its causes. Characters that no
 * database stores are taken out, so that recording a failure cannot fail itself.
 */
export function describeError(error: unknown): string {
  try {
    return describeChain(error)
  } catch {
    return 'Error: it cannot even be described'
  }
}

function describeChain(error: unknown): string {
  const parts: string[] = []
  let current: unknown = error
  while (current !== undefined && current !== null && parts.length < 5) {
    parts.push(
      current instanceof Error ? `${current.name}: ${current.message}` : `Error: ${plainText(current)}`,
    )
    current = current instanceof Error ? current.cause : undefined
  }
  return (parts.join('; caused by ') || 'Error: none given').replaceAll('\0', '').toWellFormed()
}

function plainText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
