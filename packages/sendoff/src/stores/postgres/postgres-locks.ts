import type { LockRequest, OutboxLocks, OwnerFence } from '../../store/index.ts'
import type { PostgresSession } from './drivers/postgres-driver.ts'
import { roundedUp } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The named locks of a PostgreSQL store. */
export function postgresLocks(session: PostgresSession, statements: PostgresStatements): OutboxLocks {
  return {
    acquire: (request) => acquireLock(session, statements, request),
    renew: (request) => renewLock(session, statements, request),
    release: (fence) => releaseLock(session, statements, fence),
  }
}

async function acquireLock(
  session: PostgresSession,
  { acquireLock: statement }: PostgresStatements,
  { lock, token, ttlMs, destination }: LockRequest,
): Promise<boolean> {
  return (await session.run(statement, [lock, token, roundedUp(ttlMs), destination ?? null])).length > 0
}

async function renewLock(
  session: PostgresSession,
  { renewLock: statement }: PostgresStatements,
  { lock, token, ttlMs }: LockRequest,
): Promise<boolean> {
  return (await session.run(statement, [lock, token, roundedUp(ttlMs)])).length > 0
}

async function releaseLock(
  session: PostgresSession,
  { releaseLock: statement }: PostgresStatements,
  { lock, token }: OwnerFence,
): Promise<void> {
  await session.run(statement, [lock, token])
}
