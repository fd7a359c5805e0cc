import { isAborted, rolledBack, serverErrorOf } from '../postgres-errors.ts'
import type { PostgresSession } from './postgres-driver.ts'
import { endedByHand } from '../../sql/sql-transaction.ts'

/** Runs `work` within a savepoint, by statements. */
export async function withinSavepoint<Result>(
  session: PostgresSession,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await session.run({ text: `savepoint ${name}` })
  try {
    const result = await work()
    await release(session, name)
    return result
  } catch (error) {
    await undo(session, name)
    throw error
  }
}

async function release(session: PostgresSession, name: string): Promise<void> {
  try {
    await session.run({ text: `release ${name}` })
  } catch (error) {
    if (isAborted(error)) throw rolledBack(error)
    // 3B001: no such savepoint, 25P01: no transaction at all.
    const code = serverErrorOf(error)?.code
    throw code === '3B001' || code === '25P01' ? endedByHand(error) : error
  }
}

// If even this fails, the whole transaction has failed, and its commit will say so.
async function undo(session: PostgresSession, name: string): Promise<void> {
  try {
    await session.run({ text: `rollback to ${name}` })
    await session.run({ text: `release ${name}` })
  } catch {
    // The error that led here says more.
  }
}
