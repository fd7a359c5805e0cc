import { after } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'

const database = new PGlite()

runServerStoreChecks('postgres store on PGlite', {
  openStore: (table) => postgresStore({ client: database, table }),
  run: (sql) => database.exec(sql),
})

after(() => database.close())
