import type { HeldRow, RowId } from '../../../store/index.ts'
import { numberArray, textArray } from './statement-values.ts'

/** Keys as parameters, each once. */
export function keyValues(keys: readonly RowId[]): [ids: string, destinations: string] {
  const distinct = [...new Map(keys.map((key) => [rowName(key), key])).values()]
  return [textArray(distinct.map((key) => key.eventId)), textArray(distinct.map((key) => key.destination))]
}

/** One text for both parts of a key. */
export function rowName({ eventId, destination }: RowId): string {
  return `${eventId}\n${destination}`
}

/** Rows in somebody's hands as the parameters called `givenRows` in the statements. */
export function heldValues(
  rows: readonly HeldRow[],
): [ids: string, destinations: string, deliveries: string, holders: string] {
  return [
    textArray(rows.map((row) => row.eventId)),
    textArray(rows.map((row) => row.destination)),
    numberArray(rows.map((row) => row.deliveries)),
    textArray(rows.map((row) => row.lockedBy)),
  ]
}
