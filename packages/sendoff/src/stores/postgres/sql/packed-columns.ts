import type { Value } from '../drivers/postgres-driver.ts'

/**
 * Returns a parameter for each column of some rows: the value that all rows share, or a list of the values of
 * all rows. Then the text that separates the values of a list, and the text that stands for null in it.
 */
export function packedColumns(rows: readonly (readonly Value[])[]): Value[] {
  for (let attempt = 0; ; attempt++) {
    // A separator begins with a character that it has nowhere else. So it cannot overlap with another one.
    const separator = attempt === 0 ? '\x1f' : `\x1f${attempt}\x1e`
    const missing = attempt === 0 ? '\x1e' : `\x1e${attempt}\x1f`
    const columns = packedWith(rows, separator, missing)
    if (columns !== undefined) return [...columns, separator, missing]
  }
}

/** Returns undefined if a value contains the separator, or looks like a missing one. */
function packedWith(
  rows: readonly (readonly Value[])[],
  separator: string,
  missing: string,
): Value[] | undefined {
  const isPlain = (value: Value) => value === null || (!value.includes(separator) && value !== missing)
  const columns: Value[] = []
  for (const [column, first] of rows[0]!.entries()) {
    const isShared = rows.every((row) => row[column] === first)
    if (isShared ? !isPlain(first) : !rows.every((row) => isPlain(row[column]!))) return undefined
    columns.push(isShared ? first : rows.map((row) => row[column] ?? missing).join(separator))
  }
  return columns
}
