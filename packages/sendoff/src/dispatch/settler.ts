import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxStore, Outcome, OwnerFence, Settlement } from '../store.ts'
import type { Delivery } from './delivery.ts'

export interface SettlerOptions {
  readonly store: Pick<OutboxStore<never>, 'settle'>
  readonly clock: Clock
  readonly logger: Logger
  /** Must not throw. */
  readonly onSettled: (delivery: Delivery, settlement: Settlement, refused: boolean) => void
}

const maxBatch = 500
const maxWriters = 2
/** So many are worth a second statement beside the first for those who can begin nothing before. */
const worthwhileBatch = 250
const longestWaitMs = 2
const firstRetryMs = 50
const longestRetryMs = 5_000
const failuresBeforeOneByOne = 3

interface Waiting {
  readonly delivery: Delivery
  readonly outcome: Outcome
  /** An earlier attempt at writing it failed, and may have been written all the same. */
  uncertain: boolean
}

/**
 * Writes outcomes to the store in batches: when there are enough, or a few milliseconds after the
 * first. One batch is on its way at a time, so that under load the next one fills meanwhile; a
 * second one only if it is full, or nothing can begin before it is written, so that the store has
 * something to do while this process works on the answer to the first.
 *
 * A write that fails is repeated until it succeeds: the listener has done its work, and an event
 * whose settlement got lost would be delivered again. The leases are renewed meanwhile. After some
 * failures outcomes are written one by one, so that one that cannot be written holds up no other.
 */
export class Settler {
  readonly #options: SettlerOptions
  #waiting: Waiting[] = []
  #writing = 0
  #writers = 0
  #failures = 0
  #stopped = false
  #cancelTimer: Cancel | undefined
  readonly #cancelRetries = new Set<Cancel>()
  #idle: (() => void)[] = []

  constructor(options: SettlerOptions) {
    this.#options = options
  }

  /** Outcomes that the store has not acknowledged yet. */
  get backlog(): number {
    return this.#waiting.length + this.#writing
  }

  add(delivery: Delivery, outcome: Outcome): void {
    this.#waiting.push({ delivery, outcome, uncertain: false })
    if (this.#waiting.length >= maxBatch) this.flush()
    else if (this.#writers === 0) {
      this.#cancelTimer ??= this.#options.clock.schedule(longestWaitMs, () => this.flush(), 'keepAlive')
    }
  }

  /** Writes what is there without waiting for more. */
  flush(least = maxBatch): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#writers < maxWriters && this.#hasWorkFor(this.#writers + 1, least)) void this.#writeAll(least)
  }

  /** The same for those who can begin nothing before it is written. */
  hurry(): void {
    this.flush(worthwhileBatch)
  }

  /** Resolves when everything added so far is acknowledged, or `giveUp` is called. */
  async drained(): Promise<void> {
    this.flush()
    if (this.backlog > 0 && !this.#stopped) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Stops repeating writes that fail. What is not acknowledged will be delivered again. */
  giveUp(): void {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#cancelRetries.forEach((cancel) => cancel())
    this.#becomeIdle()
  }

  // Never rejects: a failing store is reported and asked again.
  async #writeAll(least: number): Promise<void> {
    this.#writers++
    while (this.#hasWorkFor(this.#writers, least) && !this.#stopped) {
      const batch = this.#nextBatch()
      this.#writing += batch.length
      try {
        await this.#write(batch)
        this.#failures = 0
        this.#writing -= batch.length
      } catch (error) {
        this.#writing -= batch.length
        await this.#failed(batch, error)
      }
    }
    this.#writers--
    if (this.backlog === 0) this.#becomeIdle()
  }

  // A store that fails is asked by one at a time.
  #hasWorkFor(writers: number, least: number): boolean {
    return writers === 1 ? this.#waiting.length > 0 : this.#waiting.length >= least && this.#failures === 0
  }

  // Those who read without a claim prove it by their lock, the one they read under: the next may be this process's as
  // well, but in between it may have been somebody else's.
  #nextBatch(): readonly Waiting[] {
    const most = this.#failures >= failuresBeforeOneByOne ? 1 : maxBatch
    const fence = fenceOf(this.#waiting)
    const end = this.#waiting.findIndex(
      ({ delivery: { lock } }) => lock !== undefined && lock.fence !== fence,
    )
    return this.#waiting.splice(0, end === -1 ? most : Math.min(most, end))
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const { store, onSettled } = this.#options
    const settlements = batch.map(({ delivery, outcome }) => ({
      row: delivery.held,
      outcome: outcomeNow(delivery, outcome),
    }))
    const refused = new Set<Settlement>(await store.settle(settlements, fenceOf(batch)))
    batch.forEach(({ delivery, uncertain }, index) => {
      const settlement = settlements[index]!
      // What is refused after an error was settled the first time, and no lease was lost.
      onSettled(delivery, settlement, refused.has(settlement) && !uncertain)
    })
  }

  /** Puts the batch behind everything else that waits, and lets some time pass. */
  async #failed(batch: readonly Waiting[], error: unknown): Promise<void> {
    for (const waiting of batch) waiting.uncertain = true
    this.#waiting.push(...batch)
    this.#failures++
    if (this.#stopped) return

    const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** (this.#failures - 1))
    this.#options.logger.error(
      `Settling ${batch.length} events failed; they were delivered and are kept. ` +
        `Trying again in ${delayMs} ms. ${describeError(error)}`,
    )
    await new Promise<void>((resolve) => {
      const cancelTimer = this.#options.clock.schedule(delayMs, end, 'keepAlive')
      const cancelRetries = this.#cancelRetries.add(end)
      function end(): void {
        cancelTimer()
        cancelRetries.delete(end)
        resolve()
      }
    })
  }

  #becomeIdle(): void {
    const waiting = this.#idle
    this.#idle = []
    waiting.forEach((resolve) => resolve())
  }
}

function fenceOf(batch: readonly Waiting[]): OwnerFence | undefined {
  return batch.find(({ delivery }) => delivery.lock !== undefined)?.delivery.lock?.fence
}

// A retry was decided by a number of attempts. Where more were counted meanwhile, one more could be too many:
// the next delivery decides.
function outcomeNow(delivery: Delivery, outcome: Outcome): Outcome {
  if (outcome.kind !== 'retry' || !delivery.isOutdated) return outcome
  return { kind: 'defer', delayMs: outcome.delayMs, reason: outcome.failure.error }
}
