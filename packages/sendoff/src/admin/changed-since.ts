import { EventStatus } from '../store/event-status.ts'
import {
  type AuditEntry,
  type LookFilter,
  matchesFilter,
  type OutboxActions,
  type StoredRow,
  type StoreWith,
} from '../store/index.ts'
import type { Plan } from './plan.ts'

const pageSize = 100

/** The parts of a store that know what became of a row. */
type Records<Tx> = StoreWith<Tx, 'people' | 'actions'>

/**
 * Leaves out rows that a plan to cancel did not preview, although they match its filter now. An operator has
 * replayed them since, and they were DEAD at the time of the plan. Or they have failed since, and the filter
 * is about failures.
 *
 * Only a row whose time has changed since the plan can be one of them.
 */
export async function withoutChanged<Tx>(
  store: Records<Tx>,
  { filter, bound: { at } }: Pick<Plan, 'filter' | 'bound'>,
  rows: readonly StoredRow[],
): Promise<readonly StoredRow[]> {
  const doubtful = rows.filter(({ deliveries, availableAt }) => deliveries > 0 && availableAt > at)
  if (doubtful.length === 0) return rows
  const replays = await replaysSince(store.actions, at)
  const left = new Set<StoredRow>()
  for (const row of doubtful) {
    const isMeant =
      replays !== 'unknown' &&
      (replays === 'none' || !(await wasReplayed(store.actions, row, at))) &&
      (!isAboutFailures(filter) || matchesFilter(await asItWas(store, row, at), filter))
    if (!isMeant) left.add(row)
  }
  return rows.filter((row) => !left.has(row))
}

/** Returns whether there were replays since; `unknown` if their entries may have been purged. */
async function replaysSince<Tx>(
  actions: OutboxActions<Tx>,
  at: number,
): Promise<'none' | 'perhaps' | 'unknown'> {
  let before: string | undefined
  for (let page = 0; ; page++) {
    const entries = await actions.audit({ limit: pageSize, ...(before !== undefined && { before }) })
    if (entries.some((entry) => isPurgeOf(entry, at))) return 'unknown'
    const isLast = entries.length < pageSize
    if (page === 0 && isLast) return entries.some((entry) => isReplaySince(entry, at)) ? 'perhaps' : 'none'
    // A replay that began long before, and still runs, has an older entry.
    if (isLast || entries.at(-1)!.at < at) return 'perhaps'
    before = entries.at(-1)!.id
  }
}

async function wasReplayed<Tx>(actions: OutboxActions<Tx>, row: StoredRow, at: number): Promise<boolean> {
  const entries = await actions.auditOf({ row, limit: pageSize })
  return entries.some((entry) => isReplaySince(entry, at))
}

function isReplaySince(entry: AuditEntry, at: number): boolean {
  return entry.action === 'replay' && Math.max(entry.at, entry.updatedAt ?? entry.at) > at
}

/** Whether an entry is about a purge of the audit that may have deleted entries since `at`. */
function isPurgeOf(entry: AuditEntry, at: number): boolean {
  if (entry.action !== 'purgeAudit') return false
  const { olderThanMs } = JSON.parse(entry.detail ?? '{}') as { readonly olderThanMs?: number }
  return entry.at - (olderThanMs ?? 0) > at
}

/** Whether deliveries change which rows match. */
function isAboutFailures({ status, errorClass, text }: LookFilter): boolean {
  return errorClass !== undefined || text !== undefined || (status !== undefined && status.length === 1)
}

/** Returns a pending row as the history of its failed attempts shows it at an earlier time. */
async function asItWas<Tx>({ people }: Records<Tx>, row: StoredRow, at: number): Promise<StoredRow> {
  const history = await people.attempts(row)
  const later = history.findIndex(({ failedAt }) => failedAt > at)
  const before = later < 0 ? row.attempts : history[later]!.attempts - 1
  const last = history[(later < 0 ? history.length : later) - 1]
  // A replay keeps the history and begins to count anew.
  return before > 0 && last !== undefined
    ? { ...row, status: EventStatus.RETRY, lastError: last.error }
    : { ...row, status: EventStatus.NEW, lastError: null }
}
