/** Every server takes statements with so many characters in their parameters. */
export const alwaysTaken = 16_384

// Longer statements are no faster.
const mostAnywhere = 2_097_152

/**
 * Returns how many characters the parameters of one statement may have on a server that takes `packetBytes` at
 * once. A character needs up to three bytes, or two with a backslash. The rest is for the statement itself.
 */
export function mostCharactersFor(packetBytes: number): number {
  return Math.min(mostAnywhere, Math.max(alwaysTaken, Math.floor(packetBytes / 4)))
}

/** Divides items, in the given order, into parts of at most `most` characters together, or of one item. */
export function* partsOf<Item>(
  items: readonly Item[],
  most: number,
  charactersOf: (item: Item) => number,
): Iterable<readonly Item[]> {
  let part: Item[] = []
  let characters = 0
  for (const item of items) {
    const more = charactersOf(item)
    if (part.length > 0 && characters + more > most) {
      yield part
      part = []
      characters = 0
    }
    part.push(item)
    characters += more
  }
  if (part.length > 0) yield part
}
