/** Pseudo-random numbers that are the same for the same seed, so that a plan can be repeated. */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns a number from 0 to below 1. A Weyl sequence, its steps scrambled by two multiplications. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0
    let bits = this.#state
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }

  /** Returns a whole number, both ends included. */
  integer(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }

  pick<Item>(items: readonly [Item, ...Item[]] | readonly Item[]): Item {
    return items[this.integer(0, items.length - 1)]!
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    return items
      .map((item) => ({ item, place: this.next() }))
      .sort((a, b) => a.place - b.place)
      .map(({ item }) => item)
  }

  /** Returns a key of the table, as often as its weight says. */
  weighted<Key extends string>(weights: Readonly<Record<Key, number>>): Key {
    const entries = Object.entries(weights) as [Key, number][]
    let rest = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [key, weight] of entries) if ((rest -= weight) < 0) return key
    return entries.at(-1)![0]
  }
}
