import { EventStatus } from '../../store/event-status.ts'
import {
  type BlockedKey,
  type BlockedKeyFilter,
  type KeyName,
  maxCountedWaiting,
  type NewAuditEntry,
  type OutboxOrderingKeys,
  parkKind,
  type SkipRequest,
  type StoredRow,
} from '../../store/index.ts'
import { addEntry } from './audit-entries.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import { settleRow } from './settle-rows.ts'
import { readStoredRow } from './sql/row-columns.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** The ordering keys of an SQLite store, for operators. */
export function sqliteOrderingKeys(own: OwnDriver): OutboxOrderingKeys {
  return {
    blocked: (filter) => own.snapshot((statements, now) => blockedKeys(statements, filter, now)),
    retry: (key, audit) => own.write((statements, now) => retryKey(statements, key, now, audit)),
    skip: (request, audit) => own.write((statements, now) => skipHead(statements, request, now, audit)),
    park: (key, audit) =>
      own.write((statements, now) => {
        statements.setControl.run(parkKind(key.destination), key.orderingKey, now)
        if (audit !== undefined) addEntry(statements, audit, [], now)
      }),
    unpark: (key, audit) =>
      own.write((statements, now) => {
        statements.liftControl.run(parkKind(key.destination), key.orderingKey)
        if (audit !== undefined) addEntry(statements, audit, [], now)
      }),
  }
}

/** Returns the keys that need an operator, by name. */
function blockedKeys(
  statements: PreparedStatements,
  { limit, after = '', destination = '' }: BlockedKeyFilter,
  now: number,
): readonly BlockedKey[] {
  const blocked: BlockedKey[] = []
  let next: string | null = after
  while (blocked.length < limit) {
    next = (statements.nextTroubledKey.get(next, parkKind(destination), next) as { key: string | null }).key
    if (next === null) break
    const key = blockedKey(statements, { orderingKey: next, destination }, now)
    if (key !== undefined) blocked.push(key)
  }
  return blocked
}

/** Makes the first row of a key due. Returns false if it is due already, or if a process holds it. */
function retryKey(
  statements: PreparedStatements,
  key: KeyName,
  now: number,
  audit: NewAuditEntry | undefined,
): boolean {
  const head = headOf(statements, key, now)
  if (head === undefined || (head.blockedAt === null && head.availableAt <= now)) return false
  if (head.lockedBy !== null && head.lockedUntil! > now) return false

  statements.retryNow.run(now, head.seq)
  if (audit !== undefined) addEntry(statements, audit, [head], now)
  return true
}

/** Makes the first row of a key DEAD, whichever process holds it. */
function skipHead(
  statements: PreparedStatements,
  { reason, ...key }: SkipRequest,
  now: number,
  audit: NewAuditEntry | undefined,
): boolean {
  const head = headOf(statements, key, now)
  if (head === undefined) return false

  const failure = { error: reason, counted: false }
  const isSkipped = settleRow(statements, { row: head, outcome: { kind: 'dead', failure } }, now)
  if (isSkipped && audit !== undefined) addEntry(statements, audit, [head], now)
  return isSkipped
}

// A failed row may be behind others. The key is then not blocked.
function blockedKey(statements: PreparedStatements, key: KeyName, now: number): BlockedKey | undefined {
  const head = headOf(statements, key, now)
  const isParked = statements.isParked.get(parkKind(key.destination), key.orderingKey) !== undefined
  const isBlocked = head !== undefined && (head.blockedAt !== null || head.status === EventStatus.RETRY)
  if (!isParked && !isBlocked) return undefined

  return { orderingKey: key.orderingKey, isParked, head, waiting: waitingBehind(statements, head, now) }
}

function waitingBehind(statements: PreparedStatements, head: StoredRow | undefined, now: number): number {
  if (head === undefined) return 0
  const { orderingKey, destination, seq } = head
  const counted = statements.waitingBehind.get(orderingKey, destination, seq, now, maxCountedWaiting)
  return (counted as { count: number }).count
}

function headOf(
  { headOfKey }: PreparedStatements,
  { orderingKey, destination = '' }: KeyName,
  now: number,
): StoredRow | undefined {
  const values = headOfKey.get(orderingKey, destination, now)
  return values === undefined ? undefined : readStoredRow(values)
}
