/**
 * An error as text that starts with its class and follows its causes, and the errors that it is made of. Characters that no
 * database stores are taken out, so that recording a failure cannot fail itself.
 */
export function describeError(error: unknown): string {
  try {
    return storableText(new ErrorDescription().of(error))
  } catch {
    return 'Error: it cannot even be described'
  }
}

/** A text without the characters that no database stores. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}

const maxErrors = 10
const maxErrorsOfOne = 3

/** Errors may be their own causes, or be made of thousands: each is described once, and few of them. */
class ErrorDescription {
  readonly #described = new Set<unknown>()

  of(error: unknown): string {
    if (error === undefined || error === null) return 'Error: none given'
    this.#described.add(error)
    if (!(error instanceof Error)) return `Error: ${plainText(error)}`

    const parts = this.#ofAll(innerErrors(error))
    const cause = this.#isLeftOut(error.cause) ? '' : `; caused by ${this.of(error.cause)}`
    return `${error.name}: ${messageOf(error)}${parts}${cause}`
  }

  #ofAll(errors: readonly unknown[]): string {
    const shown: string[] = []
    for (const error of errors) {
      if (shown.length === maxErrorsOfOne) break
      if (!this.#isLeftOut(error)) shown.push(this.of(error))
    }
    const more = errors.length > maxErrorsOfOne ? `, and ${errors.length - maxErrorsOfOne} more` : ''
    return shown.length === 0 ? '' : ` (${shown.join(', ')}${more})`
  }

  #isLeftOut(error: unknown): boolean {
    const isNone = error === undefined || error === null
    return isNone || this.#described.has(error) || this.#described.size >= maxErrors
  }
}

/** The errors that an error is made of. Clients have classes of their own beside `AggregateError`. */
export function innerErrors(error: Error): readonly unknown[] {
  const { errors } = error as { readonly errors?: unknown }
  if (!Array.isArray(errors)) return []
  return error instanceof AggregateError ? errors : errors.filter((inner) => inner instanceof Error)
}

/** Node leaves the message of some errors empty, such as that of a connection that every address has refused. */
function messageOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  return error.message === '' && typeof code === 'string' ? code : error.message
}

function plainText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
