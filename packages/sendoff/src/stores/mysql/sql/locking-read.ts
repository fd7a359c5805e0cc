import { isAmong } from './statement-values.ts'

/** A read that locks rows, in both forms. */
export interface LockingRead {
  /** Locks rows, and skips those that another transaction has locked. */
  readonly skipping: string
  /** Returns the keys of rows that `skipping` could lock, behind the first `offset`. Locks nothing. */
  candidates(offset: number): string
  /**
   * Locks the rows with these keys that still meet the conditions, in the order of the keys: two transactions
   * never wait for each other in a circle. Waits for transactions that have locked one.
   */
  byKeys(keys: readonly number[]): string
}

/** The parts of a locking read. All its forms take the parameters of `where`. */
export interface LockingReadParts {
  readonly columns: string
  readonly table: string
  /** The index that finds the rows, by name. */
  readonly index: string
  /** The column of the primary key, a number. */
  readonly key: string
  readonly where: string
  /** The order of the index, without which the rows come in any order. */
  readonly order?: string
  readonly limit?: number
}

/** Writes a locking read in both forms. */
export function lockingRead(parts: LockingReadParts): LockingRead {
  const { columns, table, index, key, where, order, limit } = parts
  const inOrder = order === undefined ? '' : `\n   order by ${order}`
  const most = limit === undefined ? '' : `\n   limit ${limit}`

  return {
    skipping: `
  select ${columns}
    from ${table} force index (${index})
   where ${where}${inOrder}${most}
     for update skip locked`,

    candidates: (offset) => `
  select ${key}
    from ${table} force index (${index})
   where ${where}${inOrder}${offset > 0 ? `\n   limit ${offset}, ${limit}` : most}`,

    byKeys: (keys) => `
  select ${columns}
    from ${table} force index (primary)
   where ${isAmong(key, keys.map(String))}
     and ${where}
   order by ${key}
     for update`,
  }
}
