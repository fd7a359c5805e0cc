import { OutboxError } from '../../../errors.ts'
import { checkedTableName, type SqlTables, sqlTables } from '../../sql/table-name.ts'
import type { PartitionPeriod } from '../../sql/time-partitions.ts'

/** The names of everything that a store has in its database, as written in SQL. */
export interface MysqlTables extends SqlTables {
  /** The database as given; null for the one that connections have chosen. */
  readonly database: string | null
  readonly table: string
  /** The period of time partitions, by the time at the start of event ids; undefined for one table. */
  readonly partitionBy: PartitionPeriod | undefined
}

/** Returns the names for a database and a table, after checking both. */
export function mysqlTables(database: unknown, name: unknown, partitionBy?: PartitionPeriod): MysqlTables {
  const checkedDatabase = database === undefined ? null : checkedDatabaseName(database)
  const table = checkedTableName(name)
  const prefix = checkedDatabase === null ? '' : `\`${checkedDatabase}\`.`
  const named = (suffix: string) => `${prefix}\`${table}${suffix}\``

  return {
    database: checkedDatabase,
    table,
    partitionBy,
    ...sqlTables(named),
  }
}

function checkedDatabaseName(name: unknown): string {
  if (typeof name === 'string' && /^[A-Za-z0-9_$-]{1,64}$/.test(name)) return name

  throw new OutboxError(
    'OUTBOX_INVALID_TABLE_NAME',
    `The database name ${JSON.stringify(name) ?? String(name)} cannot be used. ` +
      'Choose one of up to 64 letters, digits, underscores, hyphens and dollar signs.',
  )
}
