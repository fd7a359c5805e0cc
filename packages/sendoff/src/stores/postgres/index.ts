export type {
  ForeignTransaction,
  PgClient,
  PgliteDatabase,
  PgliteTransaction,
  PgPool,
  PostgresClient,
  PostgresJsSql,
  PostgresJsTransaction,
  PostgresTx,
} from './drivers/postgres-client.ts'
export type { PostgresStore, PostgresStoreOptions } from './postgres-store.ts'
export { postgresStore } from './postgres-store.ts'
export type { PartitionPeriod } from '../sql/time-partitions.ts'
