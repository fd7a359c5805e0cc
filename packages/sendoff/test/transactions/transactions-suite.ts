import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { OutboxError } from '../../src/errors.ts'
import type { SqlTx, Transactions } from '../../src/transactions.ts'
import { describeInbox } from './inbox-suite.ts'
import { describeOutbox } from './outbox-suite.ts'
import type { CreateDatabase, TestDatabase } from './test-database.ts'

/** An ORM on a database that has a table `orders`. */
export interface Subject<Tx, Options> {
  readonly transactions: Transactions<Tx, SqlTx, Options>
  /** Opens a transaction as one does without an outbox. */
  open<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /** Adds an order as one does with this ORM. */
  addOrder(tx: Tx, id: string): PromiseLike<unknown>
  /** Runs a statement as one does with this ORM. */
  run(tx: Tx, sql: string): PromiseLike<unknown>
  /** A handle that can run statements, but outside of a transaction. */
  readonly outside: unknown
  /** Options of a serializable transaction. */
  readonly serializable: Options
  /** What the ORM does when the database has rolled back because of a swallowed error. */
  readonly afterSwallowedError: 'resolves' | 'rejects'
  /** The same, if a write of the outbox has noticed it. Default: no difference. */
  readonly afterNoticedRollback?: 'rejects' | undefined
  /** Why the ORM cannot run the statement `savepoint`, if so. */
  readonly noSavepoints?: string | undefined
  close(): Promise<void>
}

/** Returns the same subject, with its types inferred. */
export function subjectOf<Tx, Options>(subject: Subject<Tx, Options>): Subject<Tx, Options> {
  return subject
}

/** Declares the promises of the transactions of every ORM. */
export function describeTransactions<Tx, Options>(
  name: string,
  createDatabase: CreateDatabase,
  open: (url: string) => Promise<Subject<Tx, Options>> | Subject<Tx, Options>,
): void {
  describe(`the transactions of ${name}`, () => {
    let database: TestDatabase
    let subject: Subject<Tx, Options>
    let transactions: Transactions<Tx, SqlTx, Options>

    before(async () => {
      database = await createDatabase()
      subject = await open(database.url)
      transactions = subject.transactions
    })
    after(async () => {
      await subject?.close()
      await database.drop()
    })

    const insert = (tx: Tx, id: string) => transactions.storeTx(tx).query(database.insertOrder, [id])
    const orders = (prefix: string) => database.orders(prefix)

    it('keep the statements of the store together with those of the ORM', async () => {
      const answer = await transactions.transaction(async (tx) => {
        await subject.addOrder(tx, 'kept-1')
        await insert(tx, 'kept-2')
        for (const id of ['kept-1', 'kept-2']) {
          const { rows } = await transactions.storeTx(tx).query(database.selectOrder, [id])
          deepEqual([...rows], [{ id }])
        }
        deepEqual(await orders('kept'), [])
        return 'the answer'
      })
      equal(answer, 'the answer')
      deepEqual(await orders('kept'), ['kept-1', 'kept-2'])
    })

    it('undo both when the work fails, and reject with its error', async () => {
      const error = new Error('business says no')
      await rejects(
        transactions.transaction(async (tx) => {
          await subject.addOrder(tx, 'undone-1')
          await insert(tx, 'undone-2')
          throw error
        }),
        (thrown) => thrown === error,
      )
      deepEqual(await orders('undone'), [])
    })

    it('have parts that can be undone alone', async () => {
      await transactions.transaction(async (tx) => {
        await insert(tx, 'parts-1')
        await transactions.transaction(async (part) => {
          await subject.addOrder(part, 'parts-2')
          await insert(part, 'parts-3')
        }, tx)
        await rejects(
          transactions.transaction(async (part) => {
            await subject.addOrder(part, 'parts-lost-1')
            await insert(part, 'parts-lost-2')
            throw new Error('part says no')
          }, tx),
          /part says no/,
        )
        await insert(tx, 'parts-4')
      })
      deepEqual(await orders('parts'), ['parts-1', 'parts-2', 'parts-3', 'parts-4'])
    })

    it('survive a failed statement in a part', async () => {
      await transactions.transaction(async (tx) => {
        await insert(tx, 'failed-1')
        await rejects(
          transactions.transaction((part) => insert(part, 'failed-1'), tx),
          database.isDuplicate,
        )
        await insert(tx, 'failed-2')
      })
      deepEqual(await orders('failed'), ['failed-1', 'failed-2'])
    })

    it('have parts within parts', async () => {
      await transactions.transaction(async (tx) => {
        await transactions.transaction(async (part) => {
          await insert(part, 'deep-1')
          await rejects(
            transactions.transaction(async (inner) => {
              await insert(inner, 'deep-lost')
              throw new Error('inner says no')
            }, part),
          )
          await transactions.transaction((inner) => insert(inner, 'deep-2'), part)
        }, tx)
      })
      deepEqual(await orders('deep'), ['deep-1', 'deep-2'])
    })

    it('run under the options of the ORM', async () => {
      const isSerializable = (options?: Options) =>
        transactions.transaction(
          (tx) => database.isSerializable((sql) => transactions.storeTx(tx).query(sql, [])),
          undefined,
          options,
        )
      equal(await isSerializable(), false)
      equal(await isSerializable(subject.serializable), true)
    })

    it('pass values unchanged, and return rows with the column names of the database', async () => {
      const text = `It's "quoted", with \\ and ? and $1 and $$ and :name and ✓\n`
      const { sql, values, row } = database.echo
      const { rows } = await transactions.transaction((tx) =>
        transactions.storeTx(tx).query(sql, values(text)),
      )
      deepEqual([...rows], [row(text)])
    })

    it('reject with an error that has the code of the database', async () => {
      await transactions.transaction((tx) => insert(tx, 'code-1'))
      await rejects(
        transactions.transaction((tx) => insert(tx, 'code-1')),
        database.isDuplicate,
      )
    })

    it('that other code opened can be written in', async () => {
      await subject.open(async (tx) => {
        await subject.addOrder(tx, 'foreign-1')
        await insert(tx, 'foreign-2')
        deepEqual(await orders('foreign'), [])
      })
      deepEqual(await orders('foreign'), ['foreign-1', 'foreign-2'])
    })

    it('are distinguished from other handles', async () => {
      await rejects(async () => insert(subject.outside as Tx, 'outside-1'), isNoTransaction)
      deepEqual(await orders('outside'), [])
    })

    it('refuse statements when they have ended', async () => {
      const ended: Tx[] = []
      await transactions.transaction(async (tx) => void ended.push(tx))
      await rejects(
        transactions.transaction(async (tx) => {
          ended.push(tx)
          throw new Error('business says no')
        }),
      )
      equal(ended.length, 2)
      for (const tx of ended) await rejects(async () => insert(tx, 'ended-1'), isNoTransaction)
      deepEqual(await orders('ended'), [])
    })

    it('end after a swallowed error as the database says, whatever the ORM returns', async () => {
      const goesOn = database.afterFailedStatement === 'goes on'
      const commit = transactions.transaction(async (tx) => {
        await subject.addOrder(tx, 'swallowed-1')
        await Promise.resolve(subject.addOrder(tx, 'swallowed-1')).catch(() => {})
      })
      if (goesOn || subject.afterSwallowedError === 'resolves') await commit
      else await rejects(commit)
      deepEqual(await orders('swallowed'), goesOn ? ['swallowed-1'] : [])
    })

    describeOutbox(() => ({ database, subject }))
    describeInbox(() => ({ database, subject }))
  })
}

export function isNoTransaction(error: OutboxError): boolean {
  equal(error.code, 'OUTBOX_NO_TRANSACTION')
  match(error.message, /outbox\.transaction\(/)
  return true
}
