import { usageError } from '../command-error.ts'

/** Reads an option that is a whole number. */
export function wholeNumber(option: string, text: string, least: number, most: number): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN
  if (number >= least && number <= most) return number
  throw usageError(`${option} "${text}" is no whole number from ${least} to ${most}.`)
}

/** Reads an option that is a number above 0. */
export function positiveNumber(option: string, text: string): number {
  const number = /^\d{1,12}(\.\d{1,6})?$/.test(text) ? Number(text) : NaN
  if (number > 0) return number
  throw usageError(`${option} "${text}" is no number above 0.`)
}
