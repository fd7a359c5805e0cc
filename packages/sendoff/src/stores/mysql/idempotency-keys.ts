import type { NewRow } from '../../store/index.ts'
import type { CallersSession } from './drivers/mysql-driver.ts'
import { isAmong } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The uses of idempotency keys, by key. */
export type KeyUses = ReadonlyMap<string, KeyUse>

/** The use of one idempotency key. */
export interface KeyUse {
  /** The event that the key stands for. */
  readonly eventId: string
  /** Whether this is the first use. */
  readonly isFirst: boolean
}

/**
 * Uses the idempotency keys of rows within the caller's transaction. Waits for every transaction that has
 * used one and not committed yet.
 *
 * An event that fans out is several rows with one key, written together. They are one use of the key.
 */
export async function useIdempotencyKeys(
  session: CallersSession,
  statements: MysqlStatements,
  rows: readonly NewRow[],
): Promise<KeyUses> {
  const users = new Map<string, string>()
  for (const { idempotencyKey, eventId } of rows) {
    if (idempotencyKey !== null && !users.has(idempotencyKey)) users.set(idempotencyKey, eventId)
  }
  if (users.size === 0) return new Map()

  const keys = [...users.keys()].map((key) => Buffer.from(key)).sort((a, b) => a.compare(b))
  const values = keys.flatMap((key) => [key, users.get(key.toString())!])
  await session.run(statements.useKeys(keys.length), values)

  const answer = await session.run(statements.usedKeys(isAmongKeys(keys)), keys)
  return new Map(
    answer.rows.map(([key, eventId, uses]) => [
      Buffer.from(key as Uint8Array).toString(),
      { eventId: String(eventId), isFirst: Number(uses) === 1 },
    ]),
  )
}

/** Undoes the first uses. */
export async function forgetIdempotencyKeys(
  session: CallersSession,
  statements: MysqlStatements,
  uses: KeyUses,
): Promise<void> {
  const keys = [...uses].filter(([, use]) => use.isFirst).map(([key]) => Buffer.from(key))
  if (keys.length > 0) await session.run(statements.forgetKeys(isAmongKeys(keys), keys.length), keys)
}

/** The condition called `keys`, with the keys themselves as parameters. */
export function isAmongKeys(keys: readonly Buffer[]): string {
  return isAmong(
    '`key`',
    keys.map(() => '?'),
  )
}
