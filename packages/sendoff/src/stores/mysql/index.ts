export type {
  MariadbConnection,
  MariadbPool,
  Mysql2CallbackPool,
  Mysql2Connection,
  Mysql2Pool,
  MysqlClient,
  MysqlTx,
} from './drivers/mysql-client.ts'
export type { MysqlStore, MysqlStoreOptions } from './mysql-store.ts'
export { mysqlStore } from './mysql-store.ts'
export type { PartitionPeriod } from '../sql/time-partitions.ts'
