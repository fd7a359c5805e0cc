import type { LockRequest, OutboxLocks, OwnerFence } from '../../store/index.ts'
import type { DestinationIndexes } from '../sql/destination-indexes.ts'
import type { PostgresSession, Statement } from './drivers/postgres-driver.ts'
import { roundedUp } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The named locks of a PostgreSQL store. */
export function postgresLocks(
  session: PostgresSession,
  statements: PostgresStatements,
  destinations: DestinationIndexes,
): OutboxLocks {
  return {
    acquire: (request) =>
      acquireLock(
        session,
        destinations.cover(request) ? statements.acquireLockOf : statements.acquireLock,
        request,
      ),
    renew: (request) => renewLock(session, statements, request),
    release: (fence) => releaseLock(session, statements, fence),
  }
}

async function acquireLock(
  session: PostgresSession,
  statement: Statement,
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
