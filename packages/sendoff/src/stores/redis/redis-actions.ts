import { storedErrorText } from '../../store/error-text.ts'
import {
  type AuditEntry,
  type HolderOfRow,
  isAuditStep,
  type NewAuditEntry,
  type OutboxActions,
  type RowId,
} from '../../store/index.ts'
import type { TransactionPlace } from './drivers/commit-transaction.ts'
import { transactionOf } from './drivers/recorded-transaction.ts'
import type { RunScript } from './drivers/run-script.ts'
import { noTransaction } from './insert-rows.ts'
import {
  actionScript,
  auditEntryScript,
  auditOfScript,
  auditScript,
  purgeAuditScript,
  recordScript,
} from './scripts/action-scripts.ts'

type ActionValues =
  | readonly [overtaken: 0]
  | readonly [ran: 1, rows: readonly [string, string][], held: readonly [string, string, string][]]

type EntryValues = readonly [id: string, json: string]

/**
 * The operators' actions on a Redis store. A transaction there only collects commands, so it cannot cancel
 * an event depending on whether a worker holds it.
 */
export function redisActions(run: RunScript, { driver, keyspace }: TransactionPlace): OutboxActions<object> {
  return {
    async run({ action, rows, reason = '', audit }) {
      const request = {
        action,
        reason: storedErrorText(reason).toWellFormed(),
        rows: rows.map(({ eventId, destination, deliveries = false }) => [eventId, destination, deliveries]),
        ...(isAuditStep(audit)
          ? {
              step: {
                id: audit.id,
                expects: orFalse(audit.expects),
                progress: orFalse(audit.progress),
                state: orFalse(audit.state),
              },
            }
          : { entry: entryValues(audit) }),
      }
      const answer = (await run(actionScript, [JSON.stringify(request)])) as ActionValues
      if (answer[0] === 0) return { kind: 'overtaken' }
      return { kind: 'ran', rows: answer[1].map(rowId), held: answer[2].map(heldRow) }
    },

    async record({ entry, rows, affected = rows.length, tx }) {
      const ids = rows.map(({ eventId, destination }) => [eventId, destination])
      const values = [JSON.stringify(entryValues(entry)), JSON.stringify(ids), String(affected)]
      if (tx === undefined) return (await run(recordScript, values)) as string

      const transaction = transactionOf(tx)
      if (transaction !== undefined) transaction.recordScript({ script: recordScript, values })
      else if (driver.isOpenMulti(tx)) driver.queue(tx, recordScript, keyspace, values)
      else noTransaction()
      return ''
    },

    async audit({ id, before, limit }) {
      const values = [before === undefined ? '+inf' : `(${before}`, String(limit)]
      const answer = id === undefined ? await run(auditScript, values) : await run(auditEntryScript, [id])
      return (answer as readonly EntryValues[]).slice(0, limit).map(readEntry)
    },

    async auditOf({ row: { eventId, destination }, limit }) {
      const answer = await run(auditOfScript, [eventId, destination, String(limit)])
      return (answer as readonly EntryValues[]).map(readEntry)
    },

    purgeAudit: async ({ olderThanMs, limit }) =>
      (await run(purgeAuditScript, [String(olderThanMs), String(limit)])) as number,
  }
}

/** An audit entry as scripts take it. */
export function entryValues(entry: NewAuditEntry): readonly (string | false)[] {
  const { actor, action, detail, plan, state, progress } = entry
  return [actor, action, detail, plan, state, progress].map(orFalse)
}

function orFalse(text: string | null | undefined): string | false {
  return text?.toWellFormed() ?? false
}

function rowId([eventId, destination]: readonly [string, string]): RowId {
  return { eventId, destination }
}

function heldRow([eventId, destination, holder]: readonly [string, string, string]): HolderOfRow {
  return { eventId, destination, holder }
}

function readEntry([id, json]: EntryValues): AuditEntry {
  const values = JSON.parse(json) as (string | number | false)[]
  const text = (index: number) => (values[index] === false ? null : String(values[index]))
  return {
    id,
    at: Number(values[0]),
    actor: text(1),
    action: String(values[2]),
    detail: text(3),
    plan: text(4),
    state: text(5),
    affected: Number(values[6]),
    progress: text(7),
    updatedAt: values[8] === false ? null : Number(values[8]),
  }
}
