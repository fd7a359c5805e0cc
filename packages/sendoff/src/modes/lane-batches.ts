import type { PollSettings } from './mode.ts'

/** Lanes are filled many at a time, and then as they run empty. */
export const laneBatches: PollSettings = { batchSize: 1_000, maxBatchSize: 4_000 }
