import type { OutboxWakeUps, WakeUp } from '../../store/index.ts'
import { textOfWakeUp, wakeUpIn } from '../wake-up-text.ts'
import type { PostgresDriver } from './drivers/postgres-driver.ts'
import type { PostgresStatements } from './sql/statements.ts'

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

  async listen(callback: (wakeUp: WakeUp) => void): Promise<() => Promise<void>> {
    const stopListening = await this.#driver.listen(this.#channel, (text) => callback(wakeUpIn(text)))
    const stop = async () => {
      if (this.#stops.delete(stop)) await stopListening()
    }
    this.#stops.add(stop)
    return stop
  }

  async announce(wakeUp: WakeUp = {}): Promise<void> {
    await this.#driver.run(this.#statements.notify, [this.#channel, textOfWakeUp(wakeUp)])
  }

  /** Stops all listening. Where the client was ended before, nobody listens any more. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#stops].map((stop) => stop()))
  }
}
