import { storedErrorText } from '../../store/error-text.ts'
import type { EventStatus } from '../../store/event-status.ts'
import type { AuditEntry, NewAuditEntry, OutboxActions, RowId } from '../../store/index.ts'
import { boundsOfEnds } from '../../store/due-order.ts'
import { heldInText } from '../sql/held-text.ts'
import { type ActionSteps, cancelWithin, recordEntry, runAction } from '../sql/run-action.ts'
import type { PostgresDriver, PostgresSession, Value } from './drivers/postgres-driver.ts'
import { rowIdValues } from './sql/row-ids.ts'
import { storable } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/**
 * The operators' actions on a PostgreSQL store. `own` runs them. `driver` knows the callers' transactions.
 */
export function postgresActions<Tx extends object>(
  own: PostgresDriver<Tx>,
  statements: PostgresStatements,
  driver: PostgresDriver<Tx>,
): OutboxActions<Tx> {
  const stepsOf = (session: PostgresSession) => actionSteps(session, statements)

  return {
    run: (request) => own.transaction((tx) => runAction(stepsOf(own.session(tx)), request)),

    cancelWithin: ({ tx, ...request }) => cancelWithin(stepsOf(driver.session(tx)), request),

    record: ({ entry, rows, affected, tx }) =>
      tx === undefined
        ? own.transaction((ownTx) => recordEntry(stepsOf(own.session(ownTx)), entry, rows, affected))
        : recordEntry(stepsOf(driver.session(tx)), entry, rows, affected),

    async audit({ id, before, limit }) {
      const answer =
        id === undefined
          ? await own.run(statements.audit, [before ?? String(Number.MAX_SAFE_INTEGER), String(limit)])
          : await own.run(statements.auditEntry, [id])
      return answer.slice(0, limit).map(readEntry)
    },

    async auditOf({ row: { eventId, destination }, limit }) {
      return (await own.run(statements.auditOf, [eventId, destination, String(limit)])).map(readEntry)
    },

    async purgeAudit({ olderThanMs, limit }) {
      const [[count] = []] = await own.run(statements.purgeAudit, [String(olderThanMs), String(limit)])
      return Number(count)
    },
  }
}

/** The steps of an action in the transaction of a session. */
export function actionSteps(session: PostgresSession, statements: PostgresStatements): ActionSteps {
  return {
    async candidates(rows, skipsBusy) {
      const statement = skipsBusy ? statements.freeActionRows : statements.actionRows
      const answer = await session.run(statement, rowIdValues(rows))
      return answer.map((values) => ({
        eventId: values[0]!,
        destination: values[1]!,
        seq: Number(values[2]),
        status: Number(values[3]) as EventStatus,
        attempts: Number(values[4]),
        deliveries: Number(values[5]),
        availableAt: Number(values[6]),
        isBlocked: values[7] === 't',
        lockedBy: values[8]!,
        isLeased: values[9] === 't',
      }))
    },
    async holders(rows) {
      const answer = await session.run(statements.holdersOfRows, rowIdValues(rows))
      return answer.map(([eventId, destination, lockedBy]) => ({
        eventId: eventId!,
        destination: destination!,
        lockedBy: lockedBy!,
      }))
    },
    async locks() {
      return (await session.run(statements.livingLocks)).map(([token, held, ...ends]) => ({
        token: token!,
        bounds: boundsOfEnds(ends),
        held: heldInText(held!),
      }))
    },
    replay: async (rows) => void (await session.run(statements.replay, rowIdValues(rows))),
    async kill(rows, reason) {
      await session.run(statements.kill, [...rowIdValues(rows), storedErrorText(storable(reason))])
    },
    remove: async (rows) => void (await session.run(statements.removeRows, rowIdValues(rows))),
    async addEntry(entry, affected) {
      const [[id] = []] = await session.run(statements.addAudit, entryValues(entry, affected))
      return id!
    },
    async takeStep({ id, expects, progress, state }, affected) {
      const values = [id, expects, progress, state, String(affected)]
      return (await session.run(statements.stepAudit, values)).length > 0
    },
    addEntryRows: async (id, rows) =>
      void (await session.run(statements.addAuditEvents, [...rowIdValues(rows), id])),
    async eventOfKey(key) {
      const [[eventId] = []] = await session.run(statements.eventOfKey, [key])
      return eventId ?? undefined
    },
    async rowsOf(eventId) {
      return (await session.run(statements.rowsOfEvent, [eventId])).map(([id, destination]): RowId => ({
        eventId: id!,
        destination: destination!,
      }))
    },
  }
}

function entryValues(entry: NewAuditEntry, affected: number): Value[] {
  const { actor, action, detail = null, plan = null, state = null, progress = null } = entry
  const values = [actor, action, detail, plan, state, String(affected), progress]
  return values.map((value) => (value === null ? null : storable(value)))
}

function readEntry(values: readonly Value[]): AuditEntry {
  const [id, at, actor, action, detail, plan, state, affected, progress, updatedAt] = values
  return {
    id: id!,
    at: Number(at),
    actor: actor!,
    action: action!,
    detail: detail!,
    plan: plan!,
    state: state!,
    affected: Number(affected),
    progress: progress!,
    updatedAt: updatedAt === null ? null : Number(updatedAt),
  }
}
