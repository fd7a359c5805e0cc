import type { Delivery } from '../delivery/delivery.ts'
import { describeError } from '../describe-error.ts'
import { boundedDelayMs } from '../event/delay.ts'
import type { Outcome, OwnerFence } from '../store/index.ts'

/** An outcome that the store has not acknowledged. */
export interface UnsettledOutcome {
  readonly delivery: Delivery
  readonly outcome: Outcome
  /** When a retry that may wait was added, by the monotonic clock. */
  readonly addedAt: number
  /** Whether an earlier attempt to write it failed. The store may have written it all the same. */
  uncertain: boolean
  isEnded: boolean
}

/** Outcomes that the settler writes in one call. */
export interface OutcomeBatch {
  readonly items: readonly UnsettledOutcome[]
  /** How many batches had been written when this one failed; undefined before that. */
  readonly writtenAtFailure?: number
}

const longestRetryWaitMs = 50

/** How long a retry waits in this process for others. Its event is due later anyway. */
export function retryWaitMs(delayMs: number): number {
  return Math.min(longestRetryWaitMs, boundedDelayMs(delayMs) / 2)
}

/** Names a batch in a log line. */
export function batchName({ items }: OutcomeBatch): string {
  return items.length === 1 ? `event ${items[0]!.delivery.row.eventId}` : `${items.length} events`
}

/** The log line for a batch that failed. */
export function failureMessage(batch: OutcomeBatch, error: unknown): string {
  return `Settling ${batchName(batch)} failed and will be tried again; what was delivered is kept. ${describeError(error)}`
}

/** Returns the outcomes of a failed batch that are still to be written, and marks each as uncertain. */
export function unwritten({ items }: OutcomeBatch): readonly UnsettledOutcome[] {
  const left = items.filter(({ isEnded }) => !isEnded)
  for (const item of left) item.uncertain = true
  return left
}

/** Splits the outcomes of a batch in two. */
export function halvesOf(items: readonly UnsettledOutcome[]): readonly OutcomeBatch[] {
  const half = items.length >> 1
  return [{ items: items.slice(0, half) }, { items: items.slice(half) }]
}

/** Returns the fence of the lock under which rows of a batch were read without a claim. */
export function fenceOf(items: readonly UnsettledOutcome[]): OwnerFence | undefined {
  return items.find(({ delivery }) => delivery.lock !== undefined)?.delivery.lock?.fence
}
