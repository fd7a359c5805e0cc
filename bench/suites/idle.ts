import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenDatabase, Subject } from '../store-bench.ts'
import { type Mode, sendoffOutbox } from './sendoff-outbox.ts'

/** What a started outbox costs while there is nothing to do. */
export function idleSubjects<Tx>(openDatabase: OpenDatabase<Tx>): readonly Subject[] {
  const subject = (name: string, mode: Mode): Subject => ({
    name,
    async measure(conditions) {
      const { seconds } = conditions
      const database = await openDatabase('idle', conditions, { countStatements: true })
      await using _ = await sendoffOutbox(mode, database.openStore(), async () => {}, conditions).start()
      // What the start has left to do is not idling.
      await sleep(Math.min(1_000, seconds * 1_000))

      const statements = database.statementCount()
      const cpu = process.cpuUsage()
      const startedAt = performance.now()
      await sleep(seconds * 1_000)
      const { user, system } = process.cpuUsage(cpu)
      const elapsedSeconds = (performance.now() - startedAt) / 1_000

      return {
        cpuMsPerSecond: (user + system) / 1_000 / elapsedSeconds,
        statementsPerSecond: (database.statementCount() - statements) / elapsedSeconds,
      }
    },
  })

  return [subject('sendoff-single-node', 'singleNode'), subject('sendoff-multi-node', 'multiNode')]
}
