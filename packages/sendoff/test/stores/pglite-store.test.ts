import { after } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { runPostgresStoreChecks } from './run-postgres-store-checks.ts'

const database = new PGlite()

runPostgresStoreChecks('PGlite', {
  openStore: (table) => postgresStore({ client: database, table }),
  run: (sql) => database.exec(sql),
})

after(() => database.close())
