/** The most that one statement takes. */
export interface BatchLimits {
  readonly items: number
  readonly characters: number
}

/**
 * Divides items, in the given order, into batches that fit one statement each. An item too long for any is
 * alone.
 */
export function* statementBatches<Item>(
  items: readonly Item[],
  most: BatchLimits,
  charactersOf: (item: Item) => number,
): Iterable<readonly Item[]> {
  let batch: Item[] = []
  let characters = 0
  for (const item of items) {
    const more = charactersOf(item)
    if (batch.length === most.items || (batch.length > 0 && characters + more > most.characters)) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(item)
    characters += more
  }
  if (batch.length > 0) yield batch
}
