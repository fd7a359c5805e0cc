import { didYouMean } from './closest-name.ts'
import { OutboxError } from './errors.ts'

/** Says what is expected when a value does not fit; undefined when it does. */
export type OptionCheck = (value: unknown) => string | undefined

/**
 * Refuses unknown and unfit options with an error that names the option, and the ones there are.
 * `undefined` counts as left out.
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

export function invalidOption(what: string, name: string, value: unknown, check: OptionCheck): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `Option "${name}" of ${what} must be ${check(value)}, not ${kindOf(value)}.`,
  )
}

/** Refuses options that are left out although nothing works without them. */
export function requireOptions(what: string, options: object, names: readonly string[]): void {
  for (const name of names) {
    if ((options as Record<string, unknown>)[name] === undefined) {
      throw new OutboxError('OUTBOX_INVALID_OPTION', `${what} needs the option "${name}".`)
    }
  }
}

export const anything: OptionCheck = () => undefined

export const flag: OptionCheck = (value) => (typeof value === 'boolean' ? undefined : 'true or false')

export const text: OptionCheck = (value) =>
  typeof value === 'string' && value !== '' ? undefined : 'a non-empty string'

export const callable: OptionCheck = (value) => (typeof value === 'function' ? undefined : 'a function')

export const count: OptionCheck = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? undefined : 'a whole number of at least 1'

export const countOrInfinity: OptionCheck = (value) =>
  value === Infinity || count(value) === undefined ? undefined : 'a whole number of at least 1, or Infinity'

export const duration: OptionCheck = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value > 0
    ? undefined
    : 'a number of milliseconds above 0'

export const durationOrZero: OptionCheck = (value) =>
  value === 0 || duration(value) === undefined ? undefined : 'a number of milliseconds, 0 or more'

export function oneOf(...values: readonly unknown[]): OptionCheck {
  return (value) =>
    values.includes(value) ? undefined : `one of ${values.map((item) => JSON.stringify(item)).join(', ')}`
}

export function having(...methods: readonly string[]): OptionCheck {
  return (value) => {
    if (typeof value !== 'object' || value === null) return `an object with ${calls(methods)}`
    const missing = methods.filter((name) => typeof (value as Record<string, unknown>)[name] !== 'function')
    if (missing.length === 0) return undefined
    const lacks = missing.length === methods.length ? '' : `, of which it lacks ${calls(missing)}`
    return `an object with ${calls(methods)}${lacks}`
  }
}

function calls(methods: readonly string[]): string {
  return methods.map((name) => `${name}()`).join(', ')
}

/** What a value is, without repeating what it says. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value)
  if (value === '') return 'an empty string'
  return typeof value === 'object'
    ? `an object (${value.constructor?.name ?? 'no prototype'})`
    : `a ${typeof value}`
}
