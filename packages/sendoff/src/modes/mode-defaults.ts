/**
 * Batch sizes in the modes that keep order. A source fills many lanes at once, and then each one as it runs
 * empty.
 */
export const laneBatches = { batchSize: 1_000, maxBatchSize: 4_000 }

/** The poll interval while busy, for stores without wake-ups, in milliseconds. */
export const blindBusyIntervalMs = 100

/** Defaults of `Outbox.partitioned` that differ from those of other modes. */
export const partitionedDefaults = {
  // Each key has few events at a time, so there must be room for many keys.
  coldQueueCapacity: 8_000,
  onKeyFailure: 'blockUntilDead',
} as const

/** Defaults of `Outbox.ordered` that differ from those of other modes. */
export const orderedDefaults = { maxAttempts: 1, onFailure: 'dead' } as const

/** Defaults of `Outbox.singleWriter` that differ from those of other modes. */
export const singleWriterDefaults = { workerCount: 1, batchSize: 500 }
