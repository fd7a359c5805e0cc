import { deepEqual, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { isOnMysql } from '../../../../test/services/servers/mysql/on-mysql.ts'
import { prismaTransactions } from '../../src/transactions/prisma.ts'
import { mariadbOrders } from './mariadb-database.ts'
import { PrismaProject } from './prisma-project.ts'
import { startOutbox } from '../fixtures/outbox-fixture.ts'
import { describeTransactions, isNoTransaction, subjectOf } from './transactions-suite.ts'

const project = await PrismaProject.generate('mysql')
const { PrismaClient } = await project.client()

describeTransactions('Prisma with mariadb', mariadbOrders, (url) => {
  const prisma = new PrismaClient({ adapter: new PrismaMariaDb(url) })
  return subjectOf<any, object>({
    transactions: prismaTransactions(prisma),
    open: (work) => prisma.$transaction(work),
    addOrder: (tx, id) => tx.order.create({ data: { id } }),
    run: (tx, text) => tx.$executeRawUnsafe(text),
    outside: prisma,
    serializable: { isolationLevel: 'Serializable' },
    afterSwallowedError: 'resolves',
    afterNoticedRollback: isOnMysql ? 'rejects' : undefined,
    noSavepoints: isOnMysql
      ? 'Prisma prepares all statements, and MySQL cannot prepare this one.'
      : undefined,
    close: () => prisma.$disconnect(),
  })
})

describe('a transaction of Prisma with mariadb', () => {
  it('has parts that Prisma began, and their events if these are written with their tx', async (test) => {
    const database = await mariadbOrders()
    const prisma = new PrismaClient({ adapter: new PrismaMariaDb(database.url) })
    test.after(() => prisma.$disconnect())
    test.after(() => database.drop())
    const { outbox, metrics, listener } = await startOutbox(test, database.store('parts'), {
      transactions: prismaTransactions<any, object>(prisma) as never,
    })

    await outbox.transaction(async (tx: any) => {
      await outbox.write('Tested', 'outer')
      await tx.$transaction(async (part: any) => {
        await outbox.write('Tested', 'part', { tx: part })
        if (isOnMysql) await rejects(outbox.write('Tested', 'unnamed'), isNoTransaction)
      })
      await rejects(
        tx.$transaction(async (part: any) => {
          await outbox.write('Tested', 'undone', { tx: part })
          throw new Error('part says no')
        }),
        /part says no/,
      )
    })
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    deepEqual(listener.payloads.toSorted(), ['outer', 'part'])
  })
})
