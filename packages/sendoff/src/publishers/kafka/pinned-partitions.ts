const pin = Symbol('sendoff.kafka.partition')

interface PinnedMessage {
  [pin]?: number
}

/**
 * Makes a partitioner for a producer of `kafkajs` that chooses like the given one, but only once for each
 * message. A producer that retries asks its partitioner again, and may then mistake the result of another
 * partition for the message's own.
 *
 * `kafka.producer({ createPartitioner: pinnedPartitions(Partitioners.DefaultPartitioner) })`
 */
export function pinnedPartitions<Choice extends { readonly message: object }>(
  createPartitioner: () => (choice: Choice) => number,
): () => (choice: Choice) => number {
  return () => {
    const partitioner = createPartitioner()
    return (choice) => ((choice.message as PinnedMessage)[pin] ??= partitioner(choice))
  }
}

/**
 * Returns the partition that a message is pinned to; undefined if the producer's partitioner does not pin.
 */
export function pinnedPartition(message: object): number | undefined {
  return (message as PinnedMessage)[pin]
}
