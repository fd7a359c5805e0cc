import { deepEqual, rejects } from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { PrismaPg } from '@prisma/adapter-pg'
import { prismaTransactions } from '../../src/transactions/prisma.ts'
import { PrismaProject } from './prisma-project.ts'
import { postgresOrders } from './postgres-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

const project = await PrismaProject.generate('postgresql')
const { PrismaClient } = await project.client()

describeTransactions('Prisma', postgresOrders, (url) => {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
  return subjectOf<any, object>({
    transactions: prismaTransactions(prisma),
    open: (work) => prisma.$transaction(work),
    addOrder: (tx, id) => tx.order.create({ data: { id } }),
    run: (tx, text) => tx.$executeRawUnsafe(text),
    outside: prisma,
    serializable: { isolationLevel: 'Serializable' },
    afterSwallowedError: 'resolves',
    close: () => prisma.$disconnect(),
  })
})

describe('the types of transactions', () => {
  const source = join(import.meta.dirname, '../../src')

  it('are those of Prisma, with its models and its options', () => {
    const errors = project.typeErrors(`
      import type { Pool } from 'pg'
      import type { Prisma, PrismaClient } from './generated/client.ts'
      import { Outbox } from '${source}/outbox/outbox.ts'
      import type { ListenerRegistry } from '${source}/route/listener-registry.ts'
      import { postgresStore } from '${source}/stores/postgres/index.ts'
      import { prismaTransactions } from '${source}/transactions/prisma.ts'

      export async function typed(pool: Pool, listeners: ListenerRegistry, prisma: PrismaClient) {
        const store = postgresStore({ client: pool })
        const outbox = Outbox.multiNode({ store, transactions: prismaTransactions(prisma), listeners })
        await outbox.transaction(
          async (tx) => {
            const typedClient: Prisma.TransactionClient = tx
            await typedClient.order.create({ data: { id: 'o-1' } })
            // @ts-expect-error there is no such model
            tx.customer
            // @ts-expect-error an id is text
            await tx.order.create({ data: { id: 1 } })
          },
          { isolationLevel: 'Serializable', timeout: 1_000, maxWait: 1_000 },
        )
        // @ts-expect-error there is no such level
        await outbox.transaction(async () => {}, { isolationLevel: 'none' })
        await prisma.$transaction((tx) => outbox.write('Any', 1, { tx }))

        const extended = prisma.$extends({ model: { order: { async first() { return 'o-1' } } } })
        const other = Outbox.multiNode({ store, transactions: prismaTransactions(extended), listeners })
        const first: string = await other.transaction((tx) => tx.order.first(), { isolationLevel: 'Serializable' })
        return first
      }
    `)
    deepEqual(errors, [])
  })
})

describe('a transaction of Prisma', () => {
  it('that Prisma opened in another one can be written in, until it has timed out', async (test) => {
    const database = await postgresOrders()
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) })
    test.after(() => prisma.$disconnect())
    test.after(() => database.drop())
    const transactions = prismaTransactions<any, object>(prisma)
    const insert = (tx: any, id: string) =>
      transactions.storeTx(tx).query('insert into orders values ($1)', [id])

    await prisma.$transaction(async (tx: any) => {
      await tx.$transaction((inner: any) => insert(inner, 'o-1'))
      await tx
        .$transaction(async (inner: any) => {
          await insert(inner, 'o-2')
          throw new Error('inner says no')
        })
        .catch(() => {})
    })
    await rejects(
      prisma.$transaction(
        async (tx: any) => {
          await tx.$queryRawUnsafe('select pg_sleep(0.1)::text')
          await insert(tx, 'o-3')
        },
        { timeout: 1 },
      ),
      { code: 'OUTBOX_NO_TRANSACTION' },
    )
    deepEqual(await database.query('select id from orders'), [{ id: 'o-1' }])
  })

  it('rejects with the error of a part, also when that part cannot be undone', async (test) => {
    const database = await postgresOrders()
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) })
    test.after(() => prisma.$disconnect())
    test.after(() => database.drop())
    const transactions = prismaTransactions<any, object>(prisma)
    const failing = async (tx: any) => {
      await tx.$executeRawUnsafe('rollback')
      throw new Error('part says no')
    }
    await rejects(
      transactions.transaction((tx) => transactions.transaction(failing, tx)),
      /part says no/,
    )
  })
})
