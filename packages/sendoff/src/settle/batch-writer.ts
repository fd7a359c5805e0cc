import type { Clock } from '../clock.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { boundedDelayMs } from '../event/delay.ts'
import type { EngineMetrics } from '../observe/metrics.ts'
import type { TracedCall, TracedEnd, Tracing } from '../observe/tracing.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'
import type { OutboxStore, Outcome, OwnerFence, Settlement } from '../store/index.ts'
import { fenceOf, type OutcomeBatch, retryWaitMs, type UnsettledOutcome } from './outcome-batch.ts'
import { findWritten } from './written-settlements.ts'

/** Options of `BatchWriter`. */
export interface BatchWriterOptions {
  readonly store: Pick<OutboxStore<never>, 'people' | 'settle'>
  readonly recovery: StoreRecovery
  /** Gets the outcome as it was decided, too: a retry has waited since. Must not throw. */
  readonly onSettled: (delivery: Delivery, settlement: Settlement, refused: boolean, decided: Outcome) => void
  /** Called after each batch. Must not throw. */
  readonly onBatch: () => void
  readonly clock: Clock
  readonly metrics: EngineMetrics
  readonly tracing?: Tracing | undefined
  /**
   * Called with outcomes whose rows this process has claimed again meanwhile. They have to be written with
   * the new lease.
   */
  readonly onClaimedAgain: (items: readonly UnsettledOutcome[]) => void
}

/** Writes batches of outcomes to the store, and ends each delivery that the store has settled or refused. */
export class BatchWriter {
  readonly #options: BatchWriterOptions
  #backlog = 0
  #written = 0

  constructor(options: BatchWriterOptions) {
    this.#options = options
  }

  /** Outcomes that the store has not acknowledged yet. */
  get backlog(): number {
    return this.#backlog
  }

  /** How many batches the store has written. */
  get written(): number {
    return this.#written
  }

  /** Counts an outcome that will be written. */
  expect(): void {
    this.#backlog++
  }

  /** Writes a batch. Rejects if the store fails. */
  async write({ items }: OutcomeBatch): Promise<void> {
    const { recovery } = this.#options
    const now = this.#options.clock.monotonic()
    const settlements = items.map((item) => ({ row: item.delivery.held, outcome: outcomeNow(item, now) }))
    const span = this.#spanOf(items)
    let refused: ReadonlySet<Settlement>
    try {
      refused = new Set(await this.#settle(settlements, fenceOf(items)))
      span?.end()
    } catch (error) {
      span?.end(error)
      throw error
    }
    recovery.answered()
    this.#written++
    try {
      await this.#take(items, settlements, refused)
    } finally {
      this.#options.onBatch()
    }
  }

  #spanOf(items: readonly UnsettledOutcome[]): TracedEnd | undefined {
    const { tracing } = this.#options
    if (tracing === undefined) return undefined
    let traced: TracedCall[] | undefined
    for (const { delivery } of items) {
      if (delivery.trace !== undefined) (traced ??= []).push(delivery.trace)
    }
    return traced && tracing.settle(traced, items.length)
  }

  async #settle(
    settlements: readonly Settlement[],
    owner: OwnerFence | undefined,
  ): Promise<readonly Settlement[]> {
    const { store, clock, metrics } = this.#options
    if (metrics.isOff) return store.settle({ settlements, owner })
    const startedAt = clock.monotonic()
    const refused = await store.settle({ settlements, owner })
    metrics.recordSettle(settlements.length, clock.monotonic() - startedAt)
    return refused
  }

  async #take(
    items: readonly UnsettledOutcome[],
    settlements: readonly Settlement[],
    refused: ReadonlySet<Settlement>,
  ): Promise<void> {
    const doubtful: [UnsettledOutcome, Settlement][] = []
    const claimedAgain: UnsettledOutcome[] = []
    const overtaken: UnsettledOutcome[] = []
    items.forEach((item, index) => {
      const settlement = settlements[index]!
      if (!refused.has(settlement)) this.#end(item, settlement, false)
      else if (item.delivery.deliveries !== settlement.row.deliveries) claimedAgain.push(item)
      else if (item.delivery.reclaim !== undefined) overtaken.push(item)
      else if (item.uncertain) doubtful.push([item, settlement])
      else this.#end(item, settlement, true)
    })
    if (doubtful.length > 0) await this.#clearUp(doubtful)
    if (claimedAgain.length > 0) this.#options.onClaimedAgain(claimedAgain)
    for (const item of overtaken) void this.#writeAfterClaim(item)
  }

  // The store may have refused the outcome because of a claim of this very process that is under way.
  async #writeAfterClaim(item: UnsettledOutcome): Promise<void> {
    const { delivery } = item
    await delivery.reclaim?.catch(() => {})
    delivery.reclaim = undefined
    this.#options.onClaimedAgain([item])
  }

  // A refusal after a failure has one of two reasons: the failed call did write the outcome, or another
  // process holds the row.
  async #clearUp(doubtful: readonly [UnsettledOutcome, Settlement][]): Promise<void> {
    const settlements = doubtful.map(([, settlement]) => settlement)
    const written = await findWritten(this.#options.store.people, settlements)
    for (const [item, settlement] of doubtful) this.#end(item, settlement, !written.has(settlement))
  }

  #end(item: UnsettledOutcome, settlement: Settlement, refused: boolean): void {
    item.isEnded = true
    this.#backlog--
    this.#options.onSettled(item.delivery, settlement, refused, item.outcome)
  }
}

// The number of attempts decided this retry. If more attempts were counted meanwhile, one more could be too
// many: the next delivery decides.
function outcomeNow({ delivery, outcome, addedAt }: UnsettledOutcome, now: number): Outcome {
  if (!('delayMs' in outcome)) return outcome
  // A user's own processor may return any number.
  const delayMs = boundedDelayMs(outcome.delayMs)
  if (outcome.kind === 'defer') return { ...outcome, delayMs }
  if (delivery.isOutdated) return { kind: 'defer', delayMs, reason: outcome.failure.error }
  // The delay counts from the failure. What a failed write adds is not taken off: after an outage, events
  // must not all be due at once.
  return {
    ...outcome,
    delayMs: Math.round(delayMs - Math.max(0, Math.min(now - addedAt, retryWaitMs(delayMs)))),
  }
}
