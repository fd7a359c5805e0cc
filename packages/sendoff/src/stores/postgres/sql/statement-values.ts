import type { DuePlace, PurgeRequest } from '../../../store/index.ts'
import type { Value } from '../drivers/postgres-driver.ts'

/** Texts as one array literal of PostgreSQL. */
export function textArray(texts: readonly Value[]): string {
  return `{${texts.map(element).join(',')}}`
}

/** Numbers as one array literal of PostgreSQL. */
export function numberArray(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`
}

/**
 * A duration that statements add to the clock before they cut the sum to whole milliseconds. It is rounded up
 * so that nothing ends too early. A missing duration stays missing.
 */
export function roundedUp(ms: number): string {
  return String(ms > 0 ? ms + 0.999 : ms)
}

/** A text as PostgreSQL can store it: without NUL and halves of surrogate pairs. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/** The parameters of a statement that reads from a place. */
export function placeValues(from: DuePlace | undefined): [at: string, seq: string] {
  return from === undefined ? ['-Infinity', '0'] : [String(from.availableAt), String(from.seq)]
}

/** The age in milliseconds below which rows are skipped; null for none. */
export function skipRecentValue(skipRecentMs: number | undefined): Value {
  return skipRecentMs ? String(skipRecentMs) : null
}

/** The ages from which DONE, DEAD and any rows are deleted; null to keep them. */
export function ageValues({ doneOlderThanMs, deadOlderThanMs, anyOlderThanMs }: PurgeRequest): Value[] {
  return [doneOlderThanMs, deadOlderThanMs, anyOlderThanMs].map((age) =>
    age === undefined ? null : String(age),
  )
}

// Plain texts, as most are, need no check of each character.
function element(text: Value): string {
  if (text === null) return 'null'
  return /^[A-Za-z0-9_.:-]+$/.test(text) && !/^null$/i.test(text)
    ? text
    : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
