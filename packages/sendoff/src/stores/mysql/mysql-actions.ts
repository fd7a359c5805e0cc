import { boundsOfEnds } from '../../store/due-order.ts'
import type { EventStatus } from '../../store/event-status.ts'
import type { AuditEntry, OutboxActions } from '../../store/index.ts'
import { heldInText } from '../sql/held-text.ts'
import { type ActionSteps, cancelWithin, recordEntry, runAction } from '../sql/run-action.ts'
import type { CallersSession, LockingDriver, MysqlDriver } from './drivers/mysql-driver.ts'
import { recordOutcomes } from './settle-rows.ts'
import { numberOf, textOf } from './sql/row-columns.ts'
import { distinctRowIds, rowIdCondition } from './sql/row-ids.ts'
import { rowLimit } from './sql/row-limit.ts'
import { ageValue, numberList, rowsOf } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The operators' actions on a MySQL store. `own` runs them; `driver` knows the callers' transactions. */
export function mysqlActions<Tx extends object>(
  own: LockingDriver,
  statements: MysqlStatements,
  driver: MysqlDriver<Tx>,
): OutboxActions<Tx> {
  return {
    async run(request) {
      const skipsLocked = await own.skipsLocked()
      return own.briefly((session) => runAction(actionSteps(session, statements, skipsLocked), request))
    },

    async cancelWithin({ tx, ...request }) {
      const session = driver.session(tx)
      // On the caller's own connection: the pool may have no other.
      const skipsLocked = await own.skipsLocked(session)
      return cancelWithin(actionSteps(session, statements, skipsLocked), request)
    },

    record: ({ entry, rows, affected, tx }) =>
      tx === undefined
        ? own.briefly((session) => recordEntry(actionSteps(session, statements), entry, rows, affected))
        : recordEntry(actionSteps(driver.session(tx), statements), entry, rows, affected),

    async audit({ id, before, limit }) {
      const { rows } =
        id === undefined
          ? await own.run(statements.audit(rowLimit(limit)), [Number(before ?? Number.MAX_SAFE_INTEGER)])
          : await own.run(statements.auditEntry, [Number(id)])
      return rows.slice(0, limit).map(readEntry)
    },

    async auditOf({ row: { eventId, destination }, limit }) {
      const { rows } = await own.run(statements.auditOf(rowLimit(limit)), [eventId, destination])
      return rows.map(readEntry)
    },

    purgeAudit: ({ olderThanMs, limit }) =>
      own.briefly(async (session) => {
        const { rows } = await session.run(statements.oldAudit(rowLimit(limit)), [ageValue(olderThanMs)])
        if (rows.length === 0) return 0
        const ids = numberList(rows.map(([id]) => Number(id)))
        await session.run(statements.deleteAuditEvents(ids))
        await session.run(statements.deleteAudit(ids))
        return rows.length
      }),
  }
}

/**
 * The steps of an action in the transaction of a session. Without `skipsLocked`, they wait for transactions
 * that are changing a row.
 */
export function actionSteps(
  session: CallersSession,
  statements: MysqlStatements,
  skipsLocked = false,
): ActionSteps {
  return {
    async candidates(wanted, skipsBusy) {
      const { condition, values } = rowIdCondition(distinctRowIds(wanted))
      const { rows } = await session.run(statements.actionRows(condition, skipsBusy && skipsLocked), values)
      return rows.map((row) => ({
        eventId: textOf(row[0])!,
        destination: textOf(row[1])!,
        seq: Number(row[2]),
        status: Number(row[3]) as EventStatus,
        attempts: Number(row[4]),
        deliveries: Number(row[5]),
        availableAt: Number(row[6]),
        isBlocked: Number(row[7]) !== 0,
        lockedBy: textOf(row[8]),
        isLeased: Number(row[9]) !== 0,
      }))
    },
    async holders(wanted) {
      const { condition, values } = rowIdCondition(distinctRowIds(wanted))
      const { rows } = await session.run(statements.holdersOfRows(condition), values)
      return rows.map(([eventId, destination, lockedBy]) => ({
        eventId: textOf(eventId)!,
        destination: textOf(destination)!,
        lockedBy: textOf(lockedBy),
      }))
    },
    async locks() {
      const { rows } = await session.run(statements.livingLocks)
      return rows.map(([token, held, ...ends]) => ({
        token: textOf(token)!,
        bounds: boundsOfEnds(ends),
        held: heldInText(textOf(held)),
      }))
    },
    replay: async (rows) => void (await session.run(statements.replay(rowsOf(rows.map(({ seq }) => seq))))),
    async kill(rows, reason) {
      const outcome = { kind: 'dead', failure: { error: reason, counted: false } } as const
      const attempts = new Map(rows.map((row) => [row.seq, row.attempts]))
      const settlements = rows.map((row) => ({ row, outcome }))
      await recordOutcomes(session, statements, settlements, (seq) => attempts.get(seq)!)
    },
    async remove(rows) {
      const settlements = rows.map((row) => ({ row, outcome: { kind: 'delete' } as const }))
      await recordOutcomes(session, statements, settlements, () => 0)
    },
    async addEntry(entry, affected) {
      const { actor, action, detail = null, plan = null, state = null, progress = null } = entry
      await session.run(statements.addAudit, [actor, action, detail, plan, state, affected, progress, plan])
      return String(Number((await session.run(statements.lastAudit)).rows[0]![0]))
    },
    async takeStep({ id, expects, progress, state }, affected) {
      const [found] = (await session.run(statements.lockAudit, [Number(id)])).rows
      if (found === undefined || textOf(found[0]) !== expects) return false
      await session.run(statements.stepAudit, [affected, progress, state, Number(id)])
      return true
    },
    async addEntryRows(id, rows) {
      const values = rows.flatMap(({ eventId, destination }) => [Number(id), eventId, destination])
      await session.run(statements.addAuditEvents(rows.length), values)
    },
    async eventOfKey(key) {
      const [found] = (await session.run(statements.eventOfKey, [Buffer.from(key)])).rows
      return found && textOf(found[0])!
    },
    async rowsOf(eventId) {
      const { rows } = await session.run(statements.rowsOfEvent, [eventId])
      return rows.map(([id, destination]) => ({ eventId: textOf(id)!, destination: textOf(destination)! }))
    },
  }
}

function readEntry(values: readonly unknown[]): AuditEntry {
  const [id, at, actor, action, detail, plan, state, affected, progress, updatedAt] = values
  return {
    id: String(Number(id)),
    at: Number(at),
    actor: textOf(actor),
    action: textOf(action)!,
    detail: textOf(detail),
    plan: textOf(plan),
    state: textOf(state),
    affected: Number(affected),
    progress: textOf(progress),
    updatedAt: numberOf(updatedAt),
  }
}
