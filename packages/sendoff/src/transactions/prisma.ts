import { OutboxError } from '../errors.ts'
import type { SqlTx, Transactions } from '../transactions.ts'

/** The part of a Prisma client that is used here. */
export interface PrismaDatabase<Tx, Options> {
  $transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: Options): Promise<Result>
}

/** The part of a Prisma transaction that is used here. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>
  $executeRawUnsafe(text: string, ...values: unknown[]): PromiseLike<number>
}

/**
 * Prisma's interactive transactions, for an outbox that writes in them.
 *
 * If the caller swallows an error, the database rolls back, yet Prisma resolves. So the outbox asks the
 * database for the events before it dispatches them.
 */
export function prismaTransactions<Tx extends PrismaTransaction, Options>(
  prisma: PrismaDatabase<Tx, Options>,
): Transactions<Tx, SqlTx, Options> {
  const savepoints = new Savepoints<Tx>()

  return {
    transaction: (work, within, options) =>
      within === undefined ? prisma.$transaction(work, options) : savepoints.run(within, work),

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

        async inSavepoint(work) {
          try {
            await savepoints.run(tx, work)
          } catch (error) {
            throw databaseErrorOf(error)
          }
        },
      }
    },
  }
}

/**
 * Runs parts of transactions in savepoints, because not every version and adapter of Prisma has nested
 * transactions.
 *
 * MySQL refuses to prepare the statements of savepoints. Prisma prepares them from 7.5 on, but not those of
 * its own nested transactions, so that these take over. Names are unique because MySQL forgets the older of
 * two.
 */
class Savepoints<Tx extends PrismaTransaction> {
  #count = 0
  #isNested = false

  async run<Result>(tx: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result> {
    if (this.#isNested) return nested(tx, work)

    const name = `sendoff_${++this.#count}`
    try {
      await tx.$executeRawUnsafe(`savepoint ${name}`)
    } catch (error) {
      if (!isNotPreparable(error)) throw error
      this.#isNested = true
      return nested(tx, work)
    }
    try {
      const result = await work(tx)
      await tx.$executeRawUnsafe(`release savepoint ${name}`)
      return result
    } catch (error) {
      await undo(tx, name)
      throw error
    }
  }
}

async function nested<Tx extends object, Result>(tx: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  try {
    return await (tx as unknown as PrismaDatabase<Tx, unknown>).$transaction(work)
  } catch (error) {
    // Only the text of Prisma's error says so.
    const isWithinAnother =
      error instanceof Error && error.message.startsWith('Concurrent nested transactions')
    throw isWithinAnother ? withinAnother(error) : error
  }
}

function isNotPreparable(error: unknown): boolean {
  return (databaseErrorOf(error) as { readonly errno?: unknown }).errno === 1295
}

// If this fails as well, the whole transaction has failed. The error that led here says more.
async function undo(tx: PrismaTransaction, name: string): Promise<void> {
  try {
    await tx.$executeRawUnsafe(`rollback to savepoint ${name}`)
    await tx.$executeRawUnsafe(`release savepoint ${name}`)
  } catch {}
}

/** An error of the database as Prisma reports it: in `meta` for a statement, unwrapped for a commit. */
interface PrismaFailure extends DriverAdapterError {
  readonly code?: unknown
  readonly meta?: { readonly driverAdapterError?: DriverAdapterError }
}

interface DriverAdapterError {
  readonly cause?: { readonly originalCode?: string; readonly originalMessage?: string }
}

// Stores recognise errors by the database's own name: a code on PostgreSQL, a number on MySQL.
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

function withinAnother(cause: Error): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'This transaction has an open part, which tx.$transaction() began, and Prisma refuses a second one beside it. ' +
      'Hand over the tx of that part, or begin parts with outbox.transaction(), one after another.',
    { cause },
  )
}
