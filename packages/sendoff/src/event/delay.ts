import { OutboxError } from '../errors.ts'
import { durationOrZero, kindOf, type OptionCheck } from '../options.ts'
import { maxDelayMs } from '../store/rows.ts'

/** The delay that comes nearest to the one asked for. What is no delay at all counts as none. */
export function boundedDelayMs(ms: number): number {
  return durationOrZero(ms) === undefined ? Math.min(ms, maxDelayMs) : 0
}

/** A delay of 0 or more that is not too long. */
export const delay: OptionCheck = (value) =>
  durationOrZero(value) === undefined && (value as number) <= maxDelayMs
    ? undefined
    : `0 to ${maxDelayMs} milliseconds (a hundred years)`

/** Refuses a value that is no delay, with an error that names the caller. */
export function requireDelay(what: string, delayMs: number): void {
  if (delay(delayMs) === undefined) return
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `${what} needs a delay of ${delay(delayMs)}, not ${kindOf(delayMs)}.`,
  )
}
