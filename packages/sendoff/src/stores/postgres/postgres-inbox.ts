import type { OutboxInbox } from '../../store/index.ts'
import type { PostgresDriver, PostgresSession } from './drivers/postgres-driver.ts'
import { isAborted, isLockTimeout, rolledBack } from './postgres-errors.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The inbox of a PostgreSQL store. `driver` is for the caller's transactions, `own` for the store itself. */
export function postgresInbox<Tx extends object>(
  own: PostgresSession,
  statements: PostgresStatements,
  driver: PostgresDriver<Tx>,
): OutboxInbox<Tx> {
  return {
    async mark({ tx, consumer, messageId, wait }) {
      const session = driver.session(tx)
      const mark = async () =>
        (await session.run(statements.mark, [consumer, messageId])).length > 0 ? 'marked' : 'duplicate'
      if (wait) return mark()

      const [before] = await session.run(statements.waitForNothing)
      try {
        const answer = await mark()
        await session.run(statements.waitAgain, [before![0]!])
        return answer
      } catch (error) {
        // The server has aborted the transaction. Undoing that restores the limit, too.
        if (isLockTimeout(error)) return 'busy'
        throw error
      }
    },

    async isMarked({ tx, consumer, messageId }) {
      try {
        return (await driver.session(tx).run(statements.isMarked, [consumer, messageId])).length > 0
      } catch (error) {
        throw isAborted(error) ? rolledBack(error) : error
      }
    },

    async purge({ consumer, olderThanMs, limit, cursor = '-Infinity' }) {
      // A purge with a limit of 0 would never end.
      const most = Math.max(1, limit)
      const values = [consumer, String(olderThanMs), cursor, String(most)]
      const [answer] = await own.run(statements.purgeMarks, values)
      const [count, last] = answer!
      const deleted = Number(count)
      return { deleted, cursor: deleted < most ? undefined : last! }
    },
  }
}
