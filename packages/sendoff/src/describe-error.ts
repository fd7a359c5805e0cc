/**
 * Describes an error as text: its class, its message, its causes, and the errors it contains. It leaves out
 * failed statements and their values. It also removes characters that no database stores, so that recording a
 * failure cannot fail itself.
 */
export function describeError(error: unknown): string {
  try {
    return storableText(new ErrorDescription().of(error))
  } catch {
    return 'Error: it cannot even be described'
  }
}

/** Describes an error as a part of a sentence: without a full stop at its end. */
export function describeWithin(error: unknown): string {
  return describeError(error).replace(/\.$/, '')
}

/** Returns a text without the characters that no database stores. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}

const maxErrors = 10
const maxErrorsOfOne = 3

/**
 * Describes each error once, and only a few of them: errors may be their own causes, or contain thousands.
 */
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

/**
 * The errors that an error contains. Some clients have their own classes for this besides `AggregateError`.
 */
export function innerErrors(error: Error): readonly unknown[] {
  const { errors } = error as { readonly errors?: unknown }
  if (!Array.isArray(errors)) return []
  return error instanceof AggregateError ? errors : errors.filter((inner) => inner instanceof Error)
}

/** Drivers and ORMs put the statement before or after the message. Its values do not belong in logs. */
const statementStart = /^\s*(?:insert|update|delete|select|with|create|alter|drop|lock|call)\s/i
const errorDetail = /\n - detail: [^]*$/

/**
 * The message of an error, without the failed statement and its values. Node leaves some messages empty, such
 * as that of a connection that every address has refused.
 */
function messageOf(error: Error): string {
  const { code, query, sqlMessage } = error as Readonly<Record<string, unknown>> & Error
  // mysql2 and mariadb keep the server's own message here.
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
