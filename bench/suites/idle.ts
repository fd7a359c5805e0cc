import { setTimeout as sleep } from 'node:timers/promises'
import { startWatch } from '../statistics.ts'
import type { OpenDatabase, Subject } from '../store-bench.ts'
import { type Mode, sendoffOutbox } from './sendoff-outbox.ts'

/** What a started outbox costs while there is nothing to do. */
export function idleSubjects<Tx>(openDatabase: OpenDatabase<Tx>): readonly Subject[] {
  const subject = (name: string, mode: Mode): Subject => ({
    name,
    async measure(conditions) {
      const { seconds } = conditions
      const database = await openDatabase('idle', conditions, { countStatements: true })
      const outbox = sendoffOutbox(mode, database.openStore(), async () => {}, conditions)
      await outbox.start()
      // What the start has left to do is not idling.
      await sleep(Math.min(1_000, seconds * 1_000))

      const statements = database.statementCount()
      const stop = startWatch()
      await sleep(seconds * 1_000)
      const { ms, cpuUs } = stop()
      const ran = database.statementCount() - statements
      await outbox.close()

      return {
        cpuMsPerSecond: cpuUs / ms,
        statementsPerSecond: ran / (ms / 1_000),
      }
    },
  })

  return [subject('sendoff-single-node', 'singleNode'), subject('sendoff-multi-node', 'multiNode')]
}
