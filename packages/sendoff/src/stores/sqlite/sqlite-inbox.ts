import type { OutboxInbox } from '../../store/index.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteHandle } from './drivers/sqlite-client.ts'
import { transactionOf } from './drivers/transaction-view.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** The inbox of an SQLite store. The database has one writer at a time, so no message is ever busy. */
export function sqliteInbox(own: OwnDriver): OutboxInbox<SqliteHandle> {
  return {
    async mark({ tx, consumer, messageId }) {
      const { changes } = statementsIn(tx).mark.run(consumer, messageId, own.now())
      return Number(changes) > 0 ? 'marked' : 'duplicate'
    },

    isMarked: async ({ tx, consumer, messageId }) =>
      statementsIn(tx).isMarked.get(consumer, messageId) !== undefined,

    async purge({ consumer, olderThanMs, limit }) {
      // A purge with a limit of 0 would never end.
      const most = Math.max(1, limit)
      const deleted = await own.write((statements, now) =>
        Number(statements.purgeMarks.run(consumer, now - olderThanMs, most).changes),
      )
      return { deleted, cursor: deleted < most ? undefined : 'more' }
    },
  }

  function statementsIn(tx: SqliteHandle): PreparedStatements {
    const transaction = transactionOf(tx)
    transaction?.assertOpen()
    return own.session(transaction?.handle ?? tx).statements
  }
}
