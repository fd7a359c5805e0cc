import type { Cancel, Clock } from '../clock.ts'

/**
 * Calls back when an item has taken too long. One timer serves all items with the same limit, because a timer
 * per event costs more than dispatching the event.
 */
export class TimeLimits<Item> {
  readonly #clock: Clock
  readonly #onExpired: (item: Item) => void
  readonly #groups = new Map<number, TimeLimitGroup<Item>>()

  constructor(clock: Clock, onExpired: (item: Item) => void) {
    this.#clock = clock
    this.#onExpired = onExpired
  }

  start(item: Item, limitMs: number): void {
    let group = this.#groups.get(limitMs)
    if (group === undefined) {
      group = { expiries: new Map(), cancelTimer: undefined }
      this.#groups.set(limitMs, group)
    }
    group.expiries.set(item, this.#clock.monotonic() + limitMs)
    this.#arm(group)
  }

  stop(item: Item, limitMs: number): void {
    this.#groups.get(limitMs)?.expiries.delete(item)
  }

  /** Cancels all limits. */
  clear(): void {
    for (const group of this.#groups.values()) {
      group.expiries.clear()
      group.cancelTimer?.()
      group.cancelTimer = undefined
    }
  }

  #arm(group: TimeLimitGroup<Item>): void {
    if (group.cancelTimer !== undefined) return
    // Items of one limit expire in the order in which they began, so the first is the next.
    const [next] = group.expiries.values()
    if (next === undefined) return
    group.cancelTimer = this.#clock.schedule(Math.max(1, next - this.#clock.monotonic()), () => {
      group.cancelTimer = undefined
      this.#expire(group)
      this.#arm(group)
    })
  }

  #expire(group: TimeLimitGroup<Item>): void {
    const now = this.#clock.monotonic()
    for (const [item, expiry] of group.expiries) {
      if (expiry > now) return
      group.expiries.delete(item)
      this.#onExpired(item)
    }
  }
}

interface TimeLimitGroup<Item> {
  readonly expiries: Map<Item, number>
  cancelTimer: Cancel | undefined
}
