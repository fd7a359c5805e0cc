/** Returns the known name that a misspelt one most likely means, or undefined if none is close. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase()
  let closest: string | undefined
  let least = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance >= least) continue
    least = distance
    closest = candidate
  }
  return closest
}

/** Returns a sentence to append to an error, with a space before it. It is empty if no name is close. */
export function didYouMean(name: string, known: readonly string[]): string {
  const closest = closestName(name, known)
  return closest === undefined ? '' : ` Did you mean "${closest}"?`
}

/** How many letters must be added, removed or replaced to turn one text into the other. */
function editDistance(one: string, other: string): number {
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const replaced = previous[column - 1]! + (one[row - 1] === other[column - 1] ? 0 : 1)
      current[column] = Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1)
    }
    previous = current
  }
  return previous[other.length]!
}
