import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { prismaTransactions } from '../../src/transactions/prisma.ts'
import { mariadbOrders } from './mariadb-database.ts'
import { PrismaProject } from './prisma-project.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

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
    close: () => prisma.$disconnect(),
  })
})
