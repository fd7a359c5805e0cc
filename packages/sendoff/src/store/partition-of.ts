import { hash } from 'node:crypto'

/** How many parts the space of ordering keys has. */
export const partitionCount = 256

/**
 * The partition of an ordering key: the first byte of the SHA-256 of its UTF-8 text. Every
 * database and language can compute it, so that events written elsewhere land in the same one.
 */
export function partitionOf(orderingKey: string): number {
  return hash('sha256', orderingKey, 'binary').charCodeAt(0)
}

/** The partition of a row: that of its key, or one that its number tells where it has no key. */
export function partitionOfRow({ partitionNo, seq }: { partitionNo: number | null; seq: number }): number {
  return partitionNo ?? seq % partitionCount
}
