import { after, before, describe } from 'node:test'
import type { OutboxStore } from '../../src/store/index.ts'
import type { Transactions } from '../../src/transactions.ts'
import { describeInbox } from './inbox-suite.ts'
import { describeOutbox } from './outbox-suite.ts'
import type { CreateDatabase, TestDatabase } from './test-database.ts'
import type { Subject } from './transactions-suite.ts'

/** Tests transactions that a store can run itself, on connections that are not the outbox's own. */
export function describeDriver<Tx>(
  name: string,
  createDatabase: CreateDatabase,
  open: (url: string) => Subject<Tx, object>,
): void {
  describe(`the transactions of ${name}`, () => {
    let database: TestDatabase
    let subject: Subject<Tx, object>

    before(async () => {
      database = await createDatabase()
      subject = open(database.url)
    })
    after(async () => {
      await subject.close()
      await database.drop()
    })
    describeOutbox(() => ({ database, subject }))
    describeInbox(() => ({ database, subject }))
  })
}

export function transactionsOf<Tx>(store: OutboxStore<Tx>): Transactions<Tx, never> {
  return {
    confirmsCommit: true,
    transaction: (work, within, options) => store.transaction(work, { ...options, within }),
    storeTx: (tx) => tx as never,
  }
}
