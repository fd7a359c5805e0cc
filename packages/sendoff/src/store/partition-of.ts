import { hash } from 'node:crypto'

/** How many partitions the ordering keys are divided into. */
export const partitionCount = 256

/**
 * Returns the partition of an ordering key: the first byte of the SHA-256 of its UTF-8 text. Every database
 * and language can compute it, so events written elsewhere land in the same partition.
 */
export function partitionOf(orderingKey: string): number {
  return hash('sha256', orderingKey, 'binary').charCodeAt(0)
}

/** Returns the partition of a row: that of its key, or for a row without a key one derived from its `seq`. */
export function partitionOfRow({ partitionNo, seq }: { partitionNo: number | null; seq: number }): number {
  return partitionNo ?? seq % partitionCount
}
