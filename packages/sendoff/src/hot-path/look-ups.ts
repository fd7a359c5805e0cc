import type { Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'
import type { NamedRow } from '../store/index.ts'
import { askAgainAfterMs } from '../write/event-exists.ts'
import { type Delivery, rowIdOf } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import { BackOff, type StoreRecovery } from '../store-calls/store-recovery.ts'

/** Options of `LookUps`. */
export interface LookUpsOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly recovery: StoreRecovery
  readonly inFlight: InFlightTracker
  /** Leases the named rows that exist and that no other process holds. */
  readonly claimKeys: (keys: readonly NamedRow[]) => Promise<readonly Delivery[]>
}

/** The question whether a row was committed. Exactly one of its three methods is called, once. */
export interface LookUp {
  readonly key: NamedRow
  /** Whether the commit may still be under way. */
  readonly inDoubt: boolean
  /** Whether to stop asking. */
  readonly isOver: boolean
  /** The row exists, and this process has leased it. */
  found(delivery: Delivery): void
  /** The row exists, and this process holds it already. */
  isHere(): void
  /** The row does not exist, or another process holds it. */
  notFound(): void
}

const maxBatch = 500

/**
 * Finds out which rows were committed, if their transaction did not confirm it. Questions that come during
 * one call are asked together in the next.
 */
export class LookUps {
  readonly #options: LookUpsOptions
  readonly #waiting: { readonly lookUp: LookUp; readonly looks: number }[] = []
  readonly #backOff: BackOff
  #running: Promise<void> | undefined

  constructor(options: LookUpsOptions) {
    this.#options = options
    this.#backOff = new BackOff({
      ...options,
      what: 'Looking up events',
      firstMs: askAgainAfterMs[0],
      longestMs: askAgainAfterMs.at(-1)!,
    })
  }

  add(lookUp: LookUp): void {
    this.#ask(lookUp, 0)
  }

  /** Resolves when every question so far has been asked. */
  async idle(): Promise<void> {
    await this.#running
  }

  #ask(lookUp: LookUp, looks: number): void {
    this.#waiting.push({ lookUp, looks })
    this.#running ??= this.#run()
  }

  // Never rejects: it reports a failing store and repeats the call.
  async #run(): Promise<void> {
    // We wait one turn, because other transactions may end in the same one.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, maxBatch).filter(({ lookUp }) => this.#isAwaited(lookUp))
      if (batch.length === 0) continue
      const found = await this.#claim(batch.map(({ lookUp }) => lookUp.key))
      for (const { lookUp, looks } of batch) {
        const key = rowIdOf(lookUp.key)
        const delivery = this.#options.inFlight.claimed(key, found?.get(key))
        if (delivery !== undefined) lookUp.found(delivery)
        else if (found !== undefined && !lookUp.inDoubt) lookUp.notFound()
        else this.#askLater(lookUp, looks)
      }
    }
    // At once, so that a question of the same turn begins a new run.
    this.#running = undefined
  }

  #isAwaited(lookUp: LookUp): boolean {
    const isAwaited = this.#options.inFlight.await(rowIdOf(lookUp.key))
    if (!isAwaited) lookUp.isHere()
    return isAwaited
  }

  async #claim(keys: readonly NamedRow[]): Promise<ReadonlyMap<string, Delivery> | undefined> {
    try {
      const found = await this.#options.claimKeys(keys)
      this.#backOff.succeeded()
      return new Map(found.map((delivery) => [delivery.rowId, delivery]))
    } catch (error) {
      this.#backOff.failed(
        `Looking up ${keys.length} events after their commit failed and will be tried again. ${describeError(error)}`,
      )
      return undefined
    }
  }

  #askLater(lookUp: LookUp, looks: number): void {
    const delayMs = askAgainAfterMs[looks]
    if (delayMs === undefined || lookUp.isOver) return lookUp.notFound()

    this.#backOff.schedule(delayMs, () => {
      if (lookUp.isOver) lookUp.notFound()
      else this.#ask(lookUp, looks + 1)
    })
  }
}
