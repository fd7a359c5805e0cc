import type { Cancel } from '../../../packages/sendoff/src/clock.ts'

interface Task {
  readonly at: number
  /** The order in which tasks of one moment were scheduled. */
  readonly place: number
  run: (() => void) | undefined
}

/**
 * The time of a simulated world, and everything that is going to happen in it. Time moves only from one task
 * to the next, so that hours pass in a second.
 */
export class VirtualTime {
  #now = 0
  #placed = 0
  #steps = 0
  readonly #heap: Task[] = []

  /** Milliseconds since the world began. */
  get now(): number {
    return this.#now
  }

  /** How many tasks have run so far. */
  get steps(): number {
    return this.#steps
  }

  /** Runs a task after `ms` milliseconds. Tasks of the same moment run in the order of their requests. */
  schedule(ms: number, run: () => void): Cancel {
    const task: Task = { at: this.#now + Math.max(0, ms), place: ++this.#placed, run }
    this.#push(task)
    return () => (task.run = undefined)
  }

  /**
   * Runs task after task until `isOver` returns true or nothing is left to do. Promises that a task settles
   * have run their callbacks before the next task begins. Returns whether it was over.
   */
  async runUntil(isOver: () => boolean): Promise<boolean> {
    while (!isOver()) {
      const task = this.#pop()
      if (task === undefined) return false
      if (task.run === undefined) continue
      this.#now = task.at
      this.#steps += 1
      task.run()
      await microtasks()
    }
    return true
  }

  #push(task: Task): void {
    const heap = this.#heap
    let index = heap.push(task) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(task, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = task
  }

  #pop(): Task | undefined {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      if (!isBefore(heap[child]!, last)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
    return first
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.at < b.at || (a.at === b.at && a.place < b.place)
}

/** Resolves when every callback of a settled promise has run. */
function microtasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
