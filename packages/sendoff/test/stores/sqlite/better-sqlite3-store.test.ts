import Database from 'better-sqlite3'
import { runSqliteStoreChecks } from './run-sqlite-store-checks.ts'

runSqliteStoreChecks('better-sqlite3', (file) => new Database(file))
