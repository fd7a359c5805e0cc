import type { HeldRow, NamedRow, RowId } from '../../../store/index.ts'
import { numberArray, textArray } from './statement-values.ts'

/** Row ids as parameters, each once. */
export function rowIdValues(rows: readonly RowId[]): [ids: string, destinations: string] {
  const distinct = [...new Map(rows.map((row) => [rowName(row), row])).values()]
  return [textArray(distinct.map((row) => row.eventId)), textArray(distinct.map((row) => row.destination))]
}

/** Row ids as parameters, each once, with the wanted fences and holders; a null fence stands for any. */
export function namedRowValues(
  rows: readonly NamedRow[],
): [ids: string, destinations: string, deliveries: string, holders: string] {
  const distinct = [...new Map(rows.map((row) => [rowName(row), row])).values()]
  return [
    ...rowIdValues(distinct),
    textArray(distinct.map(({ unchanged }) => unchanged?.deliveries.toString() ?? null)),
    textArray(distinct.map(({ unchanged }) => unchanged?.lockedBy ?? null)),
  ]
}

/** Returns one text for both parts of a row id. */
export function rowName({ eventId, destination }: RowId): string {
  return `${eventId}\n${destination}`
}

/** Held rows as the parameters called `givenRows` in the statements. */
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
