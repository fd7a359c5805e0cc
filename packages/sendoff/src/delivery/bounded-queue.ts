/**
 * A first-in, first-out queue that never grows beyond its capacity. A caller can reserve places for items
 * that come later.
 */
export class BoundedQueue<Item> {
  readonly capacity: number
  #items: (Item | undefined)[] = []
  #head = 0
  #reserved = 0

  constructor(capacity: number) {
    this.capacity = capacity
  }

  get length(): number {
    return this.#items.length - this.#head
  }

  get room(): number {
    return this.capacity - this.length - this.#reserved
  }

  /** Adds an item. Returns false if the queue is full. */
  offer(item: Item): boolean {
    if (this.room <= 0) return false
    this.#items.push(item)
    return true
  }

  reserve(): boolean {
    if (this.room <= 0) return false
    this.#reserved++
    return true
  }

  giveBackReserved(): void {
    this.#reserved--
  }

  /** Returns the item that `take` would return. */
  peek(): Item | undefined {
    return this.#items[this.#head]
  }

  take(): Item | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head++] = undefined

    // Moving the rest to the front now and then is cheaper than shifting at every take.
    if (this.#head >= 64 && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  takeAll(): Item[] {
    return this.takeBehind(0)
  }

  /** Takes all items after the first `count`. */
  takeBehind(count: number): Item[] {
    return this.#items.splice(this.#head + count) as Item[]
  }
}
