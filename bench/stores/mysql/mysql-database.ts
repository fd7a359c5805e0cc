import mysql from 'mysql2/promise'
import { mysqlStore } from 'sendoff/mysql'
import type { BenchDatabase, BenchDatabases, Conditions } from '../../store-bench.ts'
import { concurrentWriters } from '../../suites/write.ts'
import { createDatabase, databaseUrl, serverCpuUs, statementCount, tidy } from './mysql-server.ts'
import { createOrders, insertOrder } from './orders.ts'

// Enough for all writers, and for the delivery beside them.
const poolSize = concurrentWriters + 4

/** Databases of the MariaDB that was started for the run, or of the server that `MYSQL_URL` names. */
export const mysqlDatabases: BenchDatabases<mysql.PoolConnection> = {
  async create(name, conditions) {
    await createDatabase(name, conditions)
    await createOrders(databaseUrl(name, conditions))
    const database = mysqlDatabase(name, conditions)
    const store = database.openStore()
    await store.migrate()
    await store.close()
    return database
  },

  open: async (name, conditions) => mysqlDatabase(name, conditions),
  serverCpuUs,
}

function mysqlDatabase(name: string, conditions: Conditions): BenchDatabase<mysql.PoolConnection> {
  const uri = databaseUrl(name, conditions)
  const pool = mysql.createPool({ uri, connectionLimit: poolSize })
  return {
    openStore: (table) => mysqlStore({ client: pool, ...(table !== undefined && { table }) }),
    insertOrder,
    tidy: () => tidy(uri),
    counts: async () => ({ statementsPerSecond: await statementCount() }),
    close: () => pool.end(),
  }
}
