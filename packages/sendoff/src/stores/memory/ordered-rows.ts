import type { MemoryRow } from './memory-row.ts'

// Large enough to keep the list of chunks short, small enough that moving entries costs little.
const chunkSize = 512

/**
 * Rows sorted by a time and then by `seq`, in chunks. The cost of adding, removing and finding a start hardly
 * depends on the number of rows.
 *
 * A row's time must not change while the row is in here.
 */
export class OrderedRows {
  readonly #timeOf: (row: MemoryRow) => number
  #chunks: MemoryRow[][] = []

  constructor(timeOf: (row: MemoryRow) => number) {
    this.#timeOf = timeOf
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  add(row: MemoryRow): void {
    const index = this.#chunkAt(this.#timeOf(row), row.seq)
    // A row behind all others goes to the end of the last chunk.
    const chunk = this.#chunks[index] ?? this.#chunks.at(-1)

    if (chunk === undefined) {
      this.#chunks.push([row])
      return
    }
    chunk.splice(this.#placeIn(chunk, this.#timeOf(row), row.seq), 0, row)
    if (chunk.length > chunkSize) this.#split(this.#chunks.indexOf(chunk))
  }

  delete(row: MemoryRow): void {
    const index = this.#chunkAt(this.#timeOf(row), row.seq)
    const chunk = this.#chunks[index]
    if (chunk === undefined) return

    const place = this.#placeIn(chunk, this.#timeOf(row), row.seq)
    if (chunk[place] === row) chunk.splice(place, 1)
    if (chunk.length === 0) this.#chunks.splice(index, 1)
  }

  /** Returns the rows at or behind a place, in order. The caller must not add or remove any meanwhile. */
  *from(time: number, seq: number): Generator<MemoryRow, void> {
    const first = this.#chunkAt(time, seq)

    for (let index = first; index < this.#chunks.length; index += 1) {
      const chunk = this.#chunks[index]!
      const start = index === first ? this.#placeIn(chunk, time, seq) : 0
      for (let place = start; place < chunk.length; place += 1) yield chunk[place]!
    }
  }

  /** Returns the index of the first chunk that does not end before the place. */
  #chunkAt(time: number, seq: number): number {
    return firstIndex(
      this.#chunks.length,
      (index) => !this.#isBefore(this.#chunks[index]!.at(-1)!, time, seq),
    )
  }

  #placeIn(chunk: readonly MemoryRow[], time: number, seq: number): number {
    return firstIndex(chunk.length, (index) => !this.#isBefore(chunk[index]!, time, seq))
  }

  #isBefore(row: MemoryRow, time: number, seq: number): boolean {
    const rowTime = this.#timeOf(row)
    return rowTime < time || (rowTime === time && row.seq < seq)
  }

  #split(index: number): void {
    const chunk = this.#chunks[index]!
    // Rows mostly come in order: a full last chunk stays full, and a new one begins.
    const at = index === this.#chunks.length - 1 ? chunkSize : chunkSize / 2
    this.#chunks.splice(index + 1, 0, chunk.splice(at))
  }
}

/** Returns the lowest index for which `fits` is true. It must be true for all that follow. */
function firstIndex(length: number, fits: (index: number) => boolean): number {
  let low = 0
  let high = length

  while (low < high) {
    const middle = (low + high) >>> 1
    if (fits(middle)) high = middle
    else low = middle + 1
  }
  return low
}
