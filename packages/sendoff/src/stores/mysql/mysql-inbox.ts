import { randomInt } from 'node:crypto'
import type { MarkAnswer, OutboxInbox } from '../../store/index.ts'
import { needingRevision } from '../schema-revision.ts'
import type { CallersSession, LockingDriver, MysqlDriver, MysqlSession } from './drivers/mysql-driver.ts'
import { isLockTimeout, isOutsideTransaction, lacksSchema, noLongerOpen } from './mysql-errors.ts'
import { placeOf } from './schema/migrations.ts'
import type { MysqlTables } from './schema/mysql-tables.ts'
import { textOf } from './sql/row-columns.ts'
import { rowLimit } from './sql/row-limit.ts'
import { ageValue, isAmong, timeValue } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The inbox of a MySQL store. `driver` is for the caller's transactions, `own` for the store itself. */
export function mysqlInbox<Tx extends object>(
  own: LockingDriver,
  statements: MysqlStatements,
  driver: MysqlDriver<Tx>,
  tables: MysqlTables,
): OutboxInbox<Tx> {
  return {
    async mark({ tx, consumer, messageId, wait }) {
      const session = driver.session(tx)
      // A mark outside a transaction would be kept by itself.
      if (session.assertInTransaction !== undefined) await session.assertInTransaction()
      const values = [consumer, storedId(messageId)] as const
      try {
        return await (wait ? mark(session, values) : markAtOnce(session, values))
      } catch (error) {
        if (isOutsideTransaction(error)) throw noLongerOpen(error)
        if (!wait && isLockTimeout(error)) return 'busy'
        throw error
      }
    },

    async isMarked({ tx, consumer, messageId }) {
      const { rows } = await driver.session(tx).run(statements.isMarked, [consumer, storedId(messageId)])
      return rows.length > 0
    },

    async purge({ consumer, olderThanMs, limit, cursor }) {
      // A purge with a limit of 0 would never end.
      const most = Math.max(1, rowLimit(limit))
      const from = timeValue(cursor === undefined ? -Infinity : Number(cursor))
      const age = ageValue(olderThanMs)
      const skipsLocked = await own.skipsLocked()
      const purge = async (session: MysqlSession) => {
        const text = statements.oldMarks(most, skipsLocked)
        const { rows } = await session.run(text, [consumer, age, from])
        const ids = rows.map(([id]) => textOf(id))
        const deleted = ids.length === 0 ? 0 : await forget(session, consumer, ids, skipsLocked, age)
        return { deleted, cursor: rows.length < most ? undefined : String(rows.at(-1)![2]) }
      }
      return needingRevision({ place: placeOf(tables), revision: 3, lacksSchema }, () => own.briefly(purge))
    },
  }

  async function forget(
    session: MysqlSession,
    consumer: string,
    ids: readonly (string | null)[],
    areLocked: boolean,
    age: number,
  ): Promise<number> {
    const marks = isAmong(
      'message_id',
      ids.map(() => '?'),
    )
    const { affectedRows } = areLocked
      ? await session.run(statements.forgetMarks(marks, ids.length), [consumer, ...ids])
      : await session.run(statements.forgetOldMarks(marks, ids.length), [consumer, ...ids, age])
    return affectedRows
  }

  async function mark(
    session: Pick<CallersSession, 'run' | 'runPrepared'>,
    [consumer, id]: readonly [consumer: string, id: string],
    text = statements.mark,
  ): Promise<MarkAnswer> {
    const number = randomInt(1, 2 ** 47)
    const values = [consumer, id, number]
    const { insertId } = await (session.runPrepared?.(text, values) ?? session.run(text, values))
    if (insertId !== undefined) return insertId === number ? 'duplicate' : 'marked'

    const { rows } = await session.run(statements.lastNumber)
    return Number(rows[0]?.[0]) === number ? 'duplicate' : 'marked'
  }

  // MySQL has no such thing for one statement, so the connection waits less until the mark is made.
  async function markAtOnce(
    session: CallersSession,
    values: readonly [consumer: string, id: string],
  ): Promise<MarkAnswer> {
    const { rows } = await session.run(statements.lockWait)
    const [version, seconds] = rows[0]!
    if (textOf(version)?.includes('MariaDB')) {
      return mark({ run: (...query) => session.run(...query) }, values, statements.markAtOnce)
    }

    await session.run(statements.setLockWait(1))
    try {
      return await mark(session, values)
    } finally {
      await session.run(statements.setLockWait(Number(seconds)))
    }
  }
}

// The column ignores spaces at the end when it compares. No id has a NUL, so this one stands for the last
// space.
function storedId(messageId: string): string {
  return messageId.endsWith(' ') ? `${messageId.slice(0, -1)}\0` : messageId
}
