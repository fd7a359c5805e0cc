import { didYouMean } from './closest-name.ts'
import { OutboxError } from './errors.ts'

/** Returns what is expected if a value does not fit, or undefined if it fits. */
export type OptionCheck = (value: unknown) => string | undefined

/**
 * Throws `OUTBOX_INVALID_OPTION` for unknown options and unfit values. The error names the option, and lists
 * those that exist. An option that is `undefined` counts as left out.
 */
export function checkOptions(
  what: string,
  options: unknown,
  checks: Readonly<Record<string, OptionCheck>>,
): void {
  if (typeof options !== 'object' || options === null) {
    throw new OutboxError('OUTBOX_INVALID_OPTION', `${what} takes an options object, not ${kindOf(options)}.`)
  }

  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue

    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (check === undefined) {
      const known = Object.keys(checks).sort()
      throw new OutboxError(
        'OUTBOX_UNKNOWN_OPTION',
        `${what} has no option "${name}".${didYouMean(name, known)} Its options are: ${known.join(', ')}.`,
      )
    }

    if (check(value) !== undefined) throw invalidOption(what, name, value, check)
  }
}

/** The error for a value that does not fit its option. */
export function invalidOption(what: string, name: string, value: unknown, check: OptionCheck): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `Option "${name}" of ${what} must be ${check(value)}, not ${kindOf(value)}.`,
  )
}

/** Throws `OUTBOX_INVALID_OPTION` if a required option is left out. */
export function requireOptions(what: string, options: object, names: readonly string[]): void {
  for (const name of names) {
    if ((options as Record<string, unknown>)[name] === undefined) {
      throw new OutboxError('OUTBOX_INVALID_OPTION', `${what} needs the option "${name}".`)
    }
  }
}

/** Accepts every value. */
export const anything: OptionCheck = () => undefined

/** Accepts true and false. */
export const flag: OptionCheck = (value) => (typeof value === 'boolean' ? undefined : 'true or false')

/** Accepts a text that every database stores. */
export const textOrEmpty: OptionCheck = (value) => {
  if (typeof value !== 'string') return 'a string'
  return isStorable(value) ? undefined : 'a string without NUL characters and half surrogate pairs'
}

/** Accepts a text that is not empty, and that every database stores. */
export const text: OptionCheck = (value) =>
  typeof value === 'string' && value !== '' ? textOrEmpty(value) : 'a non-empty string'

/** Accepts what `check` accepts, if it has at most `length` characters. */
export function textUpTo(length: number, check = text): OptionCheck {
  return (value) =>
    check(value) ??
    ((value as string).length <= length ? undefined : `a string of at most ${length} characters`)
}

/** Accepts a function. */
export const callable: OptionCheck = (value) => (typeof value === 'function' ? undefined : 'a function')

/** Accepts a whole number of at least 1. */
export const count: OptionCheck = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? undefined : 'a whole number of at least 1'

/** Accepts a whole number of at least 1, or Infinity. */
export const countOrInfinity: OptionCheck = (value) =>
  value === Infinity || count(value) === undefined ? undefined : 'a whole number of at least 1, or Infinity'

/** Accepts a number of milliseconds above 0. */
export const duration: OptionCheck = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value > 0
    ? undefined
    : 'a number of milliseconds above 0'

/** Accepts a number of milliseconds, 0 or more. */
export const durationOrZero: OptionCheck = (value) =>
  value === 0 || duration(value) === undefined ? undefined : 'a number of milliseconds, 0 or more'

/** Accepts a number of milliseconds above 0, or Infinity. */
export const durationOrInfinity: OptionCheck = (value) =>
  value === Infinity || duration(value) === undefined
    ? undefined
    : 'a number of milliseconds above 0, or Infinity'

/** Accepts one of these values. */
export function oneOf(...values: readonly unknown[]): OptionCheck {
  return (value) =>
    values.includes(value) ? undefined : `one of ${values.map((item) => JSON.stringify(item)).join(', ')}`
}

/** Accepts an object that has all of these methods. */
export function having(...methods: readonly string[]): OptionCheck {
  return (value) => {
    if (typeof value !== 'object' || value === null)
      return methods.length === 0 ? 'an object' : `an object with ${calls(methods)}`
    const missing = methods.filter((name) => typeof (value as Record<string, unknown>)[name] !== 'function')
    if (missing.length === 0) return undefined
    const lacks = missing.length === methods.length ? '' : `, of which it lacks ${calls(missing)}`
    return `an object with ${calls(methods)}${lacks}`
  }
}

/** Accepts a logger, or false for none. */
export const loggerOrFalse: OptionCheck = (value) =>
  value === false ? undefined : having('debug', 'info', 'warn', 'error')(value)

function calls(methods: readonly string[]): string {
  return methods.map((name) => `${name}()`).join(', ')
}

/** Names the kind of a value. It does not repeat text, which may be private. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value)
  if (value === '') return 'an empty string'
  if (typeof value === 'string' && !isStorable(value)) return 'one with such a character'
  if (typeof value === 'string' && value.length > 50) return `one of ${value.length}`
  return typeof value === 'object'
    ? `an object (${value.constructor?.name ?? 'no prototype'})`
    : `a ${typeof value}`
}

/**
 * Whether all stores can keep a text as it is.
 * PostgreSQL keeps no NUL character and no half surrogate pair.
 */
export function isStorable(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}
