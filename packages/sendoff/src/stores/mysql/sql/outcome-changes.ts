import { storedErrorText } from '../../../store/error-text.ts'
import type { Outcome, Settlement } from '../../../store/index.ts'
import type { Value } from '../drivers/mysql-driver.ts'
import { wholeNow } from './row-conditions.ts'
import { durationValue, numberList, placeholders } from './statement-values.ts'

/** The columns that a statement sets, and its parameters. */
export interface Changes {
  readonly text: string
  readonly values: readonly Value[]
}

const unfinished = 'done_at = null, blocked_at = null'
const finished = `done_at = ${wholeNow}, blocked_at = null`

/** Returns the changes of settlements of one kind. All of them count an attempt, or none does. */
export function changesOf(group: readonly Settlement[]): Changes {
  const { outcome } = group[0]!
  const attempts = `attempts = attempts + ${countOf(outcome)}`
  const { text: error, values: errors } = eachTheirOwn(group, errorOf)

  switch (outcome.kind) {
    case 'done':
      return { text: `status = 1, ${finished}, last_error = null, ${attempts}`, values: [] }
    case 'dead':
      return { text: `status = 3, ${finished}, last_error = ${error}, ${attempts}`, values: errors }
    case 'block':
      return {
        text: `done_at = null, blocked_at = ${wholeNow}, last_error = ${error}, ${attempts}`,
        values: errors,
      }
    default: {
      const { text: delay, values: delays } = eachTheirOwn(group, delayOf)
      const status = outcome.kind === 'retry' ? 2 : 0
      const lastError = outcome.kind === 'retry' ? error : `coalesce(${error}, last_error)`
      return {
        text: `status = ${status}, available_at = ${wholeNow} + interval cast(${delay} as signed) microsecond,
         ${unfinished}, last_error = ${lastError}, ${attempts}`,
        values: [...delays, ...errors],
      }
    }
  }
}

/** Returns how many attempts an outcome counts. */
export function countOf(outcome: Outcome): 0 | 1 {
  return 'failure' in outcome && outcome.failure?.counted === true ? 1 : 0
}

/** Returns an error text as it is stored. Half a surrogate pair would be replaced on the way. */
export function storedText(text: string): string {
  return storedErrorText(text.toWellFormed())
}

function errorOf({ outcome }: Settlement): Value {
  const text =
    'failure' in outcome ? outcome.failure?.error : 'reason' in outcome ? outcome.reason : undefined
  return text === undefined ? null : storedText(text)
}

function delayOf({ outcome }: Settlement): Value {
  return 'delayMs' in outcome ? durationValue(outcome.delayMs) : null
}

/** One parameter for all rows if they have the same value, as they mostly do. Otherwise one for each. */
function eachTheirOwn(group: readonly Settlement[], valueOf: (settlement: Settlement) => Value): Changes {
  const values = group.map(valueOf)
  if (values.every((value) => value === values[0])) return { text: '?', values: [values[0]!] }

  const seqs = numberList(group.map(({ row }) => row.seq))
  return { text: `elt(field(seq, ${seqs}), ${placeholders(values.length)})`, values }
}
