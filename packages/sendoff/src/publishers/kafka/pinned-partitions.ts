const pin = Symbol('sendoff.kafka.partition')

interface PinnedMessage {
  [pin]?: number
}

/**
 * Makes a partitioner for a producer of `kafkajs` that chooses as the given one does, and once for each message: a
 * producer that retries asks again, and may then mistake another partition's answer for the message's own.
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

/** The partition that a message is pinned to; undefined if the producer's partitioner does not pin. */
export function pinnedPartition(message: object): number | undefined {
  return (message as PinnedMessage)[pin]
}
