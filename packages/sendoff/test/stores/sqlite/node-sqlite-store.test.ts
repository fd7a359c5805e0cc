import { DatabaseSync } from 'node:sqlite'
import { runSqliteStoreChecks } from './run-sqlite-store-checks.ts'

runSqliteStoreChecks('node:sqlite', (file) => new DatabaseSync(file))
