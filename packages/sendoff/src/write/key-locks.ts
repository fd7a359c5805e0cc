import type { KeyLocks, NewRow } from '../store/index.ts'

/** What writers have to lock so that events are committed in the order of writing. */
export type WriteOrder = 'none' | 'key' | 'all'

/** In a transaction with more keys than this, whole partitions are locked: databases have room for so many locks only. */
const maxKeys = 100

/** Finds out which keys to lock before rows are written. */
export class KeyLocksToTake {
  readonly #taken = new WeakMap<object, number>()

  /** Undefined where there are none. */
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
