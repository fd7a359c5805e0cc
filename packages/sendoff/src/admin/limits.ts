import type { OptionCheck } from '../options.ts'

/** The largest page, in rows. */
export const maxPageSize = 1_000

/** How many rows are counted exactly. */
export const countBound = 10_000

/** How many rows one call of the store examines. Small enough that a time budget is kept. */
export const scanWindow = 2_000

/** Accepts the size of a page. */
export const pageSize: OptionCheck = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= maxPageSize
    ? undefined
    : `a whole number from 1 to ${maxPageSize}`
