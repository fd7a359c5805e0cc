import { OutboxError } from '../errors.ts'
import type { OutboxPartitions, OutboxStore } from '../store/index.ts'

/** The part of a store that reads in order. */
export function requirePartitions(
  preset: 'ordered' | 'partitioned',
  { partitions }: OutboxStore<never>,
): OutboxPartitions {
  if (partitions !== undefined) return partitions
  throw new OutboxError('OUTBOX_INVALID_OPTION', `The store of Outbox.${preset} cannot keep events in order.`)
}
