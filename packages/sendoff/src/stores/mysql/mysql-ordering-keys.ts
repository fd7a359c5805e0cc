import { EventStatus } from '../../store/event-status.ts'
import type {
  BlockedKey,
  BlockedKeyFilter,
  KeyName,
  NewAuditEntry,
  OutboxOrderingKeys,
  SkipRequest,
  StoredRow,
} from '../../store/index.ts'
import { maxCountedWaiting, parkKind } from '../../store/index.ts'
import { recordEntry } from '../sql/run-action.ts'
import type { MysqlSession, StoreDriver, Value } from './drivers/mysql-driver.ts'
import { actionSteps } from './mysql-actions.ts'
import { changeControl } from './mysql-controls.ts'
import { recordOutcomes } from './settle-rows.ts'
import { readStoredRow, textOf } from './sql/row-columns.ts'
import { rowLimit } from './sql/row-limit.ts'
import { placeholders } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** How many keys one statement reads. */
const keysAtOnce = 100

/** The ordering keys of a MySQL store, for operators. */
export function mysqlOrderingKeys(driver: StoreDriver, statements: MysqlStatements): OutboxOrderingKeys {
  return {
    blocked: (filter) => blockedKeys(driver, statements, filter),
    retry: (key, audit) => retryKey(driver, statements, key, audit),
    skip: (request, audit) => skipHead(driver, statements, request, audit),
    park: (key, audit) => changeControl(driver, statements, statements.setControl, parkOf(key), audit),
    unpark: (key, audit) => changeControl(driver, statements, statements.liftControl, parkOf(key), audit),
  }
}

function parkOf({ orderingKey, destination }: KeyName): Value[] {
  return [parkKind(destination), Buffer.from(orderingKey)]
}

/** Returns the keys that need an operator, by name. */
async function blockedKeys(
  driver: StoreDriver,
  statements: MysqlStatements,
  { limit, after = '', destination = '' }: BlockedKeyFilter,
): Promise<readonly BlockedKey[]> {
  const blocked: BlockedKey[] = []
  let last = Buffer.from(after)
  rowLimit(limit)
  while (blocked.length < limit) {
    const size = Math.min(limit - blocked.length, keysAtOnce)
    const { rows } = await driver.run(statements.troubledKeys(size), [
      last,
      destination,
      parkKind(destination),
      last,
    ])
    const keys = rows.map(([key]) => Buffer.from(textOf(key)!))
    if (keys.length > 0) blocked.push(...(await blockedOf(driver, statements, keys, destination)))
    if (keys.length < size) break
    last = keys.at(-1)!
  }
  return blocked
}

// A failed row may be behind others. The key is then not blocked.
async function blockedOf(
  session: MysqlSession,
  statements: MysqlStatements,
  keys: readonly Buffer[],
  destination: string,
): Promise<readonly BlockedKey[]> {
  const kind = parkKind(destination)
  const parkedRows = await session.run(statements.parkedKeys(placeholders(keys.length)), [kind, ...keys])
  const parked = new Set(parkedRows.rows.map(([name]) => textOf(name)))
  const headRows = await session.run(
    statements.headsOfKeys(keys.length),
    keys.flatMap((key) => [key, destination]),
  )
  const heads = new Map(headRows.rows.map(readStoredRow).map((head) => [head.orderingKey, head]))

  const held = keys.map(String).filter((key) => parked.has(key) || isStuck(heads.get(key)))
  const waiting = await waitingBehind(
    session,
    statements,
    held.flatMap((key) => heads.get(key) ?? []),
  )
  return held.map((orderingKey) => ({
    orderingKey,
    isParked: parked.has(orderingKey),
    head: heads.get(orderingKey),
    waiting: waiting.get(orderingKey) ?? 0,
  }))
}

function isStuck(head: StoredRow | undefined): boolean {
  return head !== undefined && (head.blockedAt !== null || head.status === EventStatus.RETRY)
}

async function waitingBehind(
  session: MysqlSession,
  statements: MysqlStatements,
  heads: readonly StoredRow[],
): Promise<ReadonlyMap<string | null, number>> {
  if (heads.length === 0) return new Map()

  const values = heads.flatMap((head) => [Buffer.from(head.orderingKey!), head.destination, head.seq])
  const { rows } = await session.run(statements.waitingBehind(heads.length, maxCountedWaiting), values)
  return new Map(rows.map(([index, count]) => [heads[Number(index)]!.orderingKey, Number(count)]))
}

/** Makes the first row of a key due. Returns false if it is due already, or if a process holds it. */
function retryKey(
  driver: StoreDriver,
  statements: MysqlStatements,
  key: KeyName,
  audit: NewAuditEntry | undefined,
): Promise<boolean> {
  return driver.briefly(async (session) => {
    const head = await lockedHead(session, statements, key)
    if (head === undefined) return false
    const isRetried = (await session.run(statements.retryNow, [head.seq])).affectedRows > 0
    if (isRetried && audit !== undefined) await recordEntry(actionSteps(session, statements), audit, [head])
    return isRetried
  })
}

/** Makes the first row of a key DEAD, whichever process holds it. */
function skipHead(
  driver: StoreDriver,
  statements: MysqlStatements,
  { reason, ...key }: SkipRequest,
  audit: NewAuditEntry | undefined,
): Promise<boolean> {
  return driver.briefly(async (session) => {
    const head = await lockedHead(session, statements, key)
    if (head === undefined) return false

    const outcome = { kind: 'dead', failure: { error: reason, counted: false } } as const
    await recordOutcomes(session, statements, [{ row: head, outcome }], () => head.attempts)
    if (audit !== undefined) await recordEntry(actionSteps(session, statements), audit, [head])
    return true
  })
}

async function lockedHead(
  session: MysqlSession,
  { lockHead }: MysqlStatements,
  { orderingKey, destination = '' }: KeyName,
): Promise<StoredRow | undefined> {
  const { rows } = await session.run(lockHead, [Buffer.from(orderingKey), destination])
  return rows[0] && readStoredRow(rows[0])
}
