/** Batches of the poller in the modes that keep order: lanes are filled many at a time, and then as they run empty. */
export const laneBatches = { batchSize: 1_000, maxBatchSize: 4_000 }

/** The poll interval while busy, for stores without wake-ups. */
export const blindBusyIntervalMs = 100

/** The value of each option of `Outbox.partitioned` that is left out, where it differs from that of other modes. */
export const partitionedDefaults = {
  // Each key has few events at a time: there has to be room for many keys.
  coldQueueCapacity: 8_000,
  onKeyFailure: 'blockUntilDead',
} as const

/** The value of each option of `Outbox.ordered` that is left out, where it differs from that of other modes. */
export const orderedDefaults = { maxAttempts: 1, onFailure: 'dead' } as const

/** The value of each option of `Outbox.singleWriter` that is left out, where it differs from that of other modes. */
export const singleWriterDefaults = { workerCount: 1, batchSize: 500 }
