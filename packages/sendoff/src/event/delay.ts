import { OutboxError } from '../errors.ts'
import { durationOrZero, kindOf, type OptionCheck } from '../options.ts'
import { maxDelayMs } from '../store/rows.ts'

/** Returns the nearest allowed delay to the one asked for. A value that is not a delay counts as 0. */
export function boundedDelayMs(ms: number): number {
  return durationOrZero(ms) === undefined ? Math.min(ms, maxDelayMs) : 0
}

/** Accepts a delay from 0 to a hundred years. */
export const delay: OptionCheck = (value) =>
  durationOrZero(value) === undefined && (value as number) <= maxDelayMs
    ? undefined
    : `0 to ${maxDelayMs} milliseconds (a hundred years)`

/** Throws `OUTBOX_INVALID_OPTION` for a value that is not a delay. The error names the caller. */
export function requireDelay(what: string, delayMs: number): void {
  if (delay(delayMs) === undefined) return
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `${what} needs a delay of ${delay(delayMs)}, not ${kindOf(delayMs)}.`,
  )
}
