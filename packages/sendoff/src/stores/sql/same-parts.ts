import { OutboxError } from '../../errors.ts'
import type { PartitionPeriod } from './time-partitions.ts'

/**
 * Throws if the table was made with another `partitionBy` than asked for. `store` is the function that was
 * called.
 */
export function assertSameParts(
  store: string,
  { table, meta, partitionBy }: PartitionedTable,
  stored: string | undefined,
): void {
  if (stored === undefined || stored === (partitionBy ?? 'none')) return

  const isDivided = stored !== 'none' && partitionBy !== undefined
  const made = stored === 'none' ? 'without the option partitionBy' : `with partitionBy: '${stored}'`
  const advice = isDivided
    ? `Give all stores on it partitionBy: '${stored}'. Or let sendoff make only its next partitions by ${partitionBy}, ` +
      `and keep the existing ones: update ${meta} set value = '${partitionBy}' where value = '${stored}'.`
    : 'That cannot be changed. Give all stores on it the same option, or another table.'
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The table "${table}" was made ${made} of ${store}. ${advice}`,
  )
}

interface PartitionedTable {
  readonly table: string
  /** The name as written in SQL. */
  readonly meta: string
  readonly partitionBy: PartitionPeriod | undefined
}
