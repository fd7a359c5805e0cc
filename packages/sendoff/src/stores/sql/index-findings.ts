import type { Finding } from '../../store/index.ts'

/** An index as the schema makes it, or as the database has it. */
export interface TableIndex {
  /** The plain name of its table. */
  readonly table: string
  readonly name: string
  readonly columns: readonly string[]
  readonly isPartial: boolean
}

/** An index that the schema makes, with the statement for it. */
export interface ExpectedIndex extends TableIndex {
  readonly sql: string
  /** A sentence that says what it means if the index is missing. Only for indexes that are not necessary. */
  readonly without?: string
}

/** An index of the database. */
export interface FoundIndex extends TableIndex {
  /** False if a build of it broke off, so that no statement can use it. */
  readonly isValid: boolean
}

const indexPattern = /create index if not exists "(\w+)"\s+on (\S+) \(([^)]*)\)(\s+where)?[^;]*/g

/** Reads the indexes from statements that create them by themselves. */
export function createdIndexes(statements: readonly string[]): readonly ExpectedIndex[] {
  return statements.flatMap((text) =>
    [...text.matchAll(indexPattern)].map(([sql, name, table, columns, where]) => ({
      name: name!,
      table: table!.split('.').at(-1)!.replaceAll(/["`]/g, ''),
      columns: columns!.split(',').map((column) => column.trim()),
      isPartial: where !== undefined,
      sql: `${sql.trim()};`,
    })),
  )
}

/**
 * Compares the indexes that the schema makes with those of the database. `rebuilt` returns the SQL that
 * replaces an index.
 */
export function indexFindings(
  expected: readonly ExpectedIndex[],
  found: readonly FoundIndex[],
  rebuilt: (index: ExpectedIndex) => string,
): readonly Finding[] {
  const known = new Map(found.map((index) => [keyOf(index), index]))
  return expected.flatMap((index): readonly Finding[] => {
    const there = known.get(keyOf(index))
    const name = `Index "${index.name}" of table "${index.table}"`
    if (there === undefined) {
      return [
        {
          code: 'INDEX_MISSING',
          severity: index.without === undefined ? 'error' : 'warning',
          message: `${name} is missing. ${index.without ?? 'Statements that need it read the whole table, however large it is.'}`,
          fix: 'Create it, or call store.migrate(), as sendoff migrate does.',
          sql: index.sql,
        },
      ]
    }
    if (!there.isValid) {
      return [
        {
          code: 'INDEX_INVALID',
          severity: 'error',
          message: `${name} is invalid: a build of it broke off. Every write keeps it up, and no statement can use it.`,
          fix: 'Drop it and create it again.',
          sql: rebuilt(index),
        },
      ]
    }
    if (isSame(index, there)) return []
    return [
      {
        code: 'INDEX_ALTERED',
        severity: 'warning',
        message: `${name} was altered: it has ${partsOf(there)} instead of ${partsOf(index)}. Statements may read the whole table.`,
        fix: 'Drop it and create it again.',
        sql: rebuilt(index),
      },
    ]
  })
}

/** What a missing index by destination means. */
export const withoutDestinationIndex =
  'Until it is there, polls for a destination pass over the events that wait for others.'

function keyOf({ table, name }: TableIndex): string {
  return `${table}.${name}`.toLowerCase()
}

function isSame(one: TableIndex, other: TableIndex): boolean {
  return one.isPartial === other.isPartial && one.columns.join() === other.columns.join()
}

function partsOf({ columns, isPartial }: TableIndex): string {
  return `(${columns.join(', ')})${isPartial ? ' with a condition' : ''}`
}
