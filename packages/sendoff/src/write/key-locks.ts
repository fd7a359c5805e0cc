import type { KeyLocks, NewRow } from '../store/index.ts'

/**
 * The locks that make commit order the same as write order: none, one for each ordering key, or one for all.
 */
export type WriteOrder = 'none' | 'key' | 'all'

/**
 * With more keys than this, a transaction locks whole partitions: databases have room for a limited number of
 * locks.
 */
const maxKeys = 100

/** Finds the keys to lock before rows are written. */
export class KeyLocksToTake {
  readonly #taken = new WeakMap<object, number>()

  /** Returns the locks to take, or undefined if there are none. */
  for(order: WriteOrder, context: object, rows: readonly NewRow[]): KeyLocks | undefined {
    if (order === 'none') return undefined
    if (order === 'all') return 'all'

    const keys = new Set<string>()
    for (const { orderingKey } of rows) if (orderingKey !== null) keys.add(orderingKey)
    if (keys.size === 0) return undefined

    const taken = (this.#taken.get(context) ?? 0) + keys.size
    this.#taken.set(context, taken)
    if (taken <= maxKeys) return [...keys]
    return { partitions: [...new Set(rows.flatMap(({ partitionNo }) => partitionNo ?? []))] }
  }
}
