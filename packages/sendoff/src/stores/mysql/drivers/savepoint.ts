import { endedByHand } from '../../sql/sql-transaction.ts'
import { isUnknownSavepoint } from '../mysql-errors.ts'
import type { CallersSession } from './mysql-driver.ts'
import type { TransactionWatch } from './transaction-watch.ts'

/** Runs `work` within a savepoint, by statements. */
export async function withinSavepoint<Result>(
  session: CallersSession,
  watch: TransactionWatch,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  watch.assertAlive()
  await session.run(`savepoint ${name}`)
  try {
    return await watch.inSavepoint(async () => {
      const result = await work()
      watch.assertAlive()
      await release(session, name)
      return result
    })
  } catch (error) {
    await undo(session, watch, name)
    throw error
  }
}

async function release(session: CallersSession, name: string): Promise<void> {
  try {
    await session.run(`release savepoint ${name}`)
  } catch (error) {
    throw isUnknownSavepoint(error) ? endedByHand(error) : error
  }
}

// If even this fails, the whole transaction has failed, and its commit will say so.
async function undo(session: CallersSession, watch: TransactionWatch, name: string): Promise<void> {
  try {
    await session.run(`rollback to savepoint ${name}`)
    await session.run(`release savepoint ${name}`)
  } catch {
    // The error that led here says more.
    watch.savepointLost()
  }
}
