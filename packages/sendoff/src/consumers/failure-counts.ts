const mostMessages = 10_000

/**
 * How often the handler of each message has failed in this process. It forgets the oldest ones beyond a
 * limit, so messages that never come again cost no memory for ever.
 */
export class FailureCounts {
  readonly #counts = new Map<string, number>()

  of(id: string): number {
    return this.#counts.get(id) ?? 0
  }

  /** Counts a failure. Returns how many there are now. */
  add(id: string): number {
    const failures = this.of(id) + 1
    this.#counts.delete(id)
    this.#counts.set(id, failures)
    if (this.#counts.size > mostMessages) this.#counts.delete(this.#counts.keys().next().value!)
    return failures
  }

  forget(id: string): void {
    this.#counts.delete(id)
  }
}
