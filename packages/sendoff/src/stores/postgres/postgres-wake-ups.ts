import type { OutboxWakeUps } from '../../store/index.ts'
import { textOfWakeUp, wakeUpIn } from '../wake-up-text.ts'
import type { PostgresDriver } from './drivers/postgres-driver.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Signals by LISTEN and NOTIFY. */
export interface PostgresWakeUps extends OutboxWakeUps {
  /** Stops all listening. Never rejects: if the client has ended, its listeners have ended with it. */
  close(): Promise<void>
}

/** The signals of a PostgreSQL store, on the channel of its table. */
export function postgresWakeUps(
  driver: PostgresDriver<object>,
  statements: PostgresStatements,
  channel: string,
): PostgresWakeUps {
  const stops = new Set<() => Promise<void>>()

  return {
    async listen(callback) {
      const stopListening = await driver.listen(channel, (text) => callback(wakeUpIn(text)))
      const stop = async () => {
        if (stops.delete(stop)) await stopListening()
      }
      stops.add(stop)
      return stop
    },

    announce: async (wakeUp = {}) =>
      void (await driver.run(statements.notify, [channel, textOfWakeUp(wakeUp)])),

    close: async () => void (await Promise.allSettled([...stops].map((stop) => stop()))),
  }
}
