/**
 * An error as text that starts with its class and follows its causes, and the errors that it is made of. Statements that failed and
 * their values are left out. Characters that no database stores are taken out, so that recording a failure cannot fail itself.
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
    const message = cause === '' ? messageOf(error) : messageOf(error).replace(/\.$/, '')
    return `${error.name}: ${message}${parts}${cause}`
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

/** Drivers and ORMs put these before or behind what went wrong, with values that are not for logs. */
const statementStart = /^\s*(?:insert|update|delete|select|with|create|alter|drop|lock|call)\s/i
const errorDetail = /\n - detail: [^]*$/

/**
 * The message of an error, without the statement that failed and its values. Node leaves that of some errors empty, such as
 * of a connection that every address has refused.
 */
function messageOf(error: Error): string {
  const { code, query, sqlMessage } = error as Readonly<Record<string, unknown>> & Error
  // mysql2 and mariadb have the server's own words.
  if (typeof sqlMessage === 'string' && sqlMessage !== '') return sqlMessage

  const message = error.message.replace(errorDetail, '')
  if (typeof query === 'string' && query !== '' && message.includes(query)) {
    return message.slice(0, message.indexOf(query)).replace(/[\s:]+$/, '')
  }
  if (error.name.startsWith('PrismaClient')) return message.trim().split('\n').at(-1)!
  if (typeof code !== 'string') return message
  if (message === '') return code
  return statementStart.test(message)
    ? message.slice(message.lastIndexOf(' - ') + 1).replace(/^- /, '')
    : message
}

function plainText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
