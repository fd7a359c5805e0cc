import { OutboxError } from '../errors.ts'
import type { SqlTx, Transactions } from '../transactions.ts'

/** The part of a Prisma client that is used here. */
export interface PrismaDatabase<Tx, Options> {
  $transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: Options): Promise<Result>
}

/** The part of a Prisma transaction client that the adapter uses. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>
  $executeRawUnsafe(text: string, ...values: unknown[]): PromiseLike<number>
}

/**
 * Prisma's interactive transactions, for an outbox that is written to in them. Prisma resolves
 * although the database rolled back after an error that was swallowed, so that events are dispatched
 * only after the database was asked for them.
 */
export function prismaTransactions<Tx extends PrismaTransaction, Options>(
  prisma: PrismaDatabase<Tx, Options>,
): Transactions<Tx, SqlTx, Options> {
  let savepoints = 0

  return {
    transaction: (work, within, options) =>
      within === undefined
        ? prisma.$transaction(work, options)
        : inSavepoint(within, `sendoff_${++savepoints}`, work),

    databaseError: databaseErrorOf,

    storeTx(tx) {
      // Only the client itself can connect.
      if ('$connect' in tx && tx.$connect !== undefined) throw noTransaction()
      return {
        async query(text, values) {
          try {
            return { rows: (await tx.$queryRawUnsafe(text, ...values)) as readonly unknown[] }
          } catch (error) {
            throw databaseErrorOf(error)
          }
        },
      }
    },
  }
}

/** Not every version of Prisma has transactions in transactions. Names are unique because MySQL forgets the older of two. */
async function inSavepoint<Tx extends PrismaTransaction, Result>(
  tx: Tx,
  name: string,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  await tx.$executeRawUnsafe(`savepoint ${name}`)
  try {
    const result = await work(tx)
    await tx.$executeRawUnsafe(`release savepoint ${name}`)
    return result
  } catch (error) {
    await undo(tx, name)
    throw error
  }
}

// Where even this fails, the transaction has failed as a whole, and the error that led here tells more.
async function undo(tx: PrismaTransaction, name: string): Promise<void> {
  try {
    await tx.$executeRawUnsafe(`rollback to savepoint ${name}`)
    await tx.$executeRawUnsafe(`release savepoint ${name}`)
  } catch {}
}

/** What Prisma tells of an error of the database: by a statement in its `meta`, by a commit as it is. */
interface PrismaFailure extends DriverAdapterError {
  readonly code?: unknown
  readonly meta?: { readonly driverAdapterError?: DriverAdapterError }
}

interface DriverAdapterError {
  readonly cause?: { readonly originalCode?: string; readonly originalMessage?: string }
}

// Stores know errors by what the database calls them: a code on PostgreSQL, a number on MySQL.
function databaseErrorOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const failure = error as PrismaFailure
  if (failure.code === 'P2028') return noTransaction(error)

  const { originalCode, originalMessage } = (failure.meta?.driverAdapterError ?? failure).cause ?? {}
  if (originalCode === undefined) return error
  return Object.assign(new Error(originalMessage ?? error.message, { cause: error }), {
    code: originalCode,
    errno: Number(originalCode),
  })
}

function noTransaction(cause?: Error): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'This Prisma client has no open transaction: it is the client itself, or its transaction has ended or timed out. ' +
      'Hand over the tx of prisma.$transaction(async (tx) => { … }) while it is open, or write inside outbox.transaction().',
    { cause },
  )
}
