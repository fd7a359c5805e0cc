/** A dispatcher that can stand still while another one of its process runs a suspect. */
export interface StoppableDispatcher {
  /** Begins nothing until `goOn`, hands queued deliveries back, and resolves when nothing runs. */
  standStill(): Promise<void>
  goOn(): void
}

/**
 * Lets one suspect run at a time in a process with several dispatchers, and nothing beside it. Otherwise the
 * deliveries of other destinations would count a loss when the suspect ends the process.
 */
export class SuspectTurns {
  readonly #dispatchers: StoppableDispatcher[] = []
  #last: Promise<void> = Promise.resolve()

  add(dispatcher: StoppableDispatcher): void {
    this.#dispatchers.push(dispatcher)
  }

  /**
   * Waits for a turn, and stops all other dispatchers. Returns the function that ends the turn. Rejects if
   * one of them cannot stop; then all continue.
   */
  async begin(own: StoppableDispatcher): Promise<() => void> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = before.then(() => promise)
    await before
    const others = this.#dispatchers.filter((dispatcher) => dispatcher !== own)
    const end = () => {
      for (const dispatcher of others) dispatcher.goOn()
      resolve()
    }
    try {
      await Promise.all(others.map((dispatcher) => dispatcher.standStill()))
      return end
    } catch (error) {
      end()
      throw error
    }
  }
}
