import type { OptionCheck } from '../options.ts'

/** Accepts upper bounds of buckets: numbers above 0 that rise. */
export const bucketBounds: OptionCheck = (value) =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(
    (bound, index) => Number.isFinite(bound) && bound > ((value[index - 1] as number | undefined) ?? 0),
  )
    ? undefined
    : 'a list of seconds above 0 that rise'
