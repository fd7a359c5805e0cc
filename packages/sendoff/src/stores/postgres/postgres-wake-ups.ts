import type { OutboxWakeUps } from '../../store.ts'
import type { PostgresDriver } from './postgres-driver.ts'
import type { PostgresStatements } from './statements.ts'

/** Signals by LISTEN and NOTIFY. */
export class PostgresWakeUps implements OutboxWakeUps {
  readonly #driver: PostgresDriver<object>
  readonly #channel: string
  readonly #statements: PostgresStatements
  readonly #stops = new Set<() => Promise<void>>()

  constructor(driver: PostgresDriver<object>, channel: string, statements: PostgresStatements) {
    this.#driver = driver
    this.#channel = channel
    this.#statements = statements
  }

  async listen(callback: (partitions?: readonly number[]) => void): Promise<() => Promise<void>> {
    const stopListening = await this.#driver.listen(this.#channel, (text) => callback(partitionsIn(text)))
    const stop = async () => {
      if (this.#stops.delete(stop)) await stopListening()
    }
    this.#stops.add(stop)
    return stop
  }

  async announce(partitions: readonly number[] = []): Promise<void> {
    await this.#driver.run(this.#statements.notify, [this.#channel, partitions.join()])
  }

  /** Stops all listening. Where the client was ended before, nobody listens any more. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#stops].map((stop) => stop()))
  }
}

// Nothing stands for all of them, and so does what another version may say.
function partitionsIn(text = ''): readonly number[] | undefined {
  return /^\d+(,\d+)*$/.test(text) ? text.split(',').map(Number) : undefined
}
