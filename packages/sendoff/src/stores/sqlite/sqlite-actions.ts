import { isAuditStep, type OutboxActions, type RowId } from '../../store/index.ts'
import type { ActionAnswer, ActionRequest, CancelAnswer, CancelRequest } from '../../store/index.ts'
import { type ActionCandidate, chooseRows, type LivingLock } from '../choose-rows.ts'
import { heldInText } from '../sql/held-text.ts'
import { addEntry, addEntryRows, readEntry } from './audit-entries.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteHandle } from './drivers/sqlite-client.ts'
import { transactionOf } from './drivers/transaction-view.ts'
import { settleRow } from './settle-rows.ts'
import type { PreparedStatements } from './sql/statements.ts'
import { boundsOf, type LockRow } from './sqlite-locks.ts'

/** The operators' actions on an SQLite store. */
export function sqliteActions(own: OwnDriver): OutboxActions<SqliteHandle> {
  return {
    run: (request) => own.write((statements, now) => runAction(statements, request, now)),

    async cancelWithin(request) {
      return cancelWithin(statementsOf(request.tx), request, own.now())
    },

    record: async ({ entry, rows, affected, tx }) =>
      tx === undefined
        ? own.write((statements, now) => addEntry(statements, entry, rows, now, affected))
        : addEntry(statementsOf(tx), entry, rows, own.now(), affected),

    audit: ({ id, before, limit }) =>
      own.read(({ audit, auditEntry }) => {
        const rows =
          id === undefined
            ? audit.all(Number(before ?? Number.MAX_SAFE_INTEGER), limit)
            : auditEntry.all(Number(id)).slice(0, limit)
        return rows.map(readEntry)
      }),

    auditOf: ({ row: { eventId, destination }, limit }) =>
      own.read(({ auditOf }) => auditOf.all(eventId, destination, limit).map(readEntry)),

    purgeAudit: ({ olderThanMs, limit }) =>
      own.write((statements, now) => {
        const old = statements.oldAudit.all(now - olderThanMs, limit) as { id: number }[]
        if (old.length > 0) statements.keepAuditIds.run()
        for (const { id } of old) {
          statements.deleteAuditEvents.run(id)
          statements.deleteAudit.run(id)
        }
        return old.length
      }),
  }

  function statementsOf(tx: SqliteHandle): PreparedStatements {
    const transaction = transactionOf(tx)
    transaction?.assertOpen()
    return own.session(transaction?.handle ?? tx).statements
  }
}

function runAction(
  statements: PreparedStatements,
  { action, rows, reason = '', audit }: ActionRequest,
  now: number,
): ActionAnswer {
  const found = rows.flatMap((row) => candidate(statements, row, now) ?? [])
  const chosen = chooseRows(action, rows, found, livingLocks(statements, now))
  const changed = chosen.rows.map(idOf)
  if (isAuditStep(audit)) {
    const id = Number(audit.id)
    const step = [changed.length, audit.progress, audit.state, now, id, audit.expects]
    if (Number(statements.stepAudit.run(...step).changes) === 0) return { kind: 'overtaken' }
    addEntryRows(statements, id, changed)
  } else if (changed.length > 0) {
    addEntry(statements, audit, changed, now)
  }
  for (const row of chosen.rows) {
    if (action === 'replay') statements.replay.run(now, row.seq)
    else if (action === 'purge') deleteRow(statements, row)
    else kill(statements, row, reason, now)
  }
  return { kind: 'ran', rows: changed, held: chosen.held }
}

function cancelWithin(
  statements: PreparedStatements,
  { event, reason, audit }: CancelRequest<SqliteHandle>,
  now: number,
): CancelAnswer {
  const known = 'eventId' in event ? event : statements.eventOfKey.get(event.idempotencyKey)
  const eventId = (known as { eventId: string } | undefined)?.eventId
  const ids = (eventId === undefined ? [] : statements.destinationsOf.all(eventId)) as RowId[]
  const found = ids.flatMap((row) => candidate(statements, row, now) ?? [])
  const { rows, held } = chooseRows('cancel', ids, found, livingLocks(statements, now))
  for (const row of rows) kill(statements, row, reason, now)
  const cancelled = rows.map(idOf)
  if (cancelled.length > 0) addEntry(statements, audit, cancelled, now)
  return { eventId: ids[0]?.eventId, rows: cancelled, held }
}

function candidate(
  { actionRow }: PreparedStatements,
  { eventId, destination }: RowId,
  now: number,
): ActionCandidate | undefined {
  const row = actionRow.get(eventId, destination) as
    (ActionCandidate & { lockedUntil: number | null }) | undefined
  if (row === undefined) return undefined
  const { isBlocked, lockedUntil, ...rest } = row
  return { ...rest, isBlocked: Boolean(isBlocked), isLeased: row.lockedBy !== null && lockedUntil! > now }
}

function livingLocks({ livingLocks: statement }: PreparedStatements, now: number): readonly LivingLock[] {
  return (statement.all(now) as LockRow[]).map((lock) => ({
    token: lock.token,
    bounds: boundsOf(lock),
    held: heldInText(lock.held),
  }))
}

function kill(statements: PreparedStatements, row: ActionCandidate, reason: string, now: number): void {
  const failure = { error: reason, counted: false }
  settleRow(statements, { row, outcome: { kind: 'dead', failure } }, now)
}

function deleteRow(statements: PreparedStatements, { seq, eventId, destination }: ActionCandidate): void {
  statements.deleteRow.run(seq)
  statements.deleteAttempts.run(eventId, destination)
}

function idOf({ eventId, destination }: RowId): RowId {
  return { eventId, destination }
}
