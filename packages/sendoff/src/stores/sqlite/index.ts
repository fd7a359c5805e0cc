export type { SqliteHandle, SqliteStatement, SqliteValue } from './drivers/sqlite-client.ts'
export type { SqliteStore, SqliteStoreOptions } from './sqlite-store.ts'
export { sqliteStore } from './sqlite-store.ts'
