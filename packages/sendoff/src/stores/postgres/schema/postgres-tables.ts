import { hash } from 'node:crypto'
import { OutboxError } from '../../../errors.ts'
import { checkedTableName, type SqlTables, sqlTables } from '../../sql/table-name.ts'
import type { PartitionPeriod } from '../../sql/time-partitions.ts'

/** The names of everything that a store has in its database, as written in SQL. */
export interface PostgresTables extends SqlTables {
  readonly schema: string
  readonly table: string
  /** The period of time partitions, by the time at the start of event ids; undefined for one table. */
  readonly partitionBy: PartitionPeriod | undefined
  /** The function that writes an event. */
  readonly write: string
  /** The channel of wake-ups. */
  readonly channel: string
}

/** Returns the names for a schema and a table, after checking both. */
export function postgresTables(
  schema: unknown,
  name: unknown,
  partitionBy?: PartitionPeriod,
): PostgresTables {
  const checkedSchema = checkedSchemaName(schema)
  const table = checkedTableName(name)
  const named = (suffix: string) => `"${checkedSchema}"."${table}${suffix}"`

  return {
    schema: checkedSchema,
    table,
    partitionBy,
    ...sqlTables(named),
    write: named('_write'),
    channel: channelOf(checkedSchema, table),
  }
}

function checkedSchemaName(schema: unknown): string {
  if (typeof schema === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(schema)) return schema

  throw new OutboxError(
    'OUTBOX_INVALID_TABLE_NAME',
    `The schema name ${JSON.stringify(schema) ?? String(schema)} cannot be used. ` +
      'Choose one of up to 63 letters, digits and underscores that does not start with a digit.',
  )
}

// Plain lower case, because not every driver quotes the names of channels. The hash distinguishes tables.
function channelOf(schema: string, table: string): string {
  return `sendoff_${table.slice(0, 40).toLowerCase()}_${hash('sha256', `${schema}.${table}`).slice(0, 8)}`
}
