import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxStore } from '../store/index.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'

/** Options of `HandBack`. */
export interface HandBackOptions {
  readonly store: Pick<OutboxStore<never>, 'release'>
  readonly inFlight: InFlightTracker
  readonly logger: Logger
  readonly recovery: StoreRecovery
}

/** Hands back deliveries that will not run here. */
export class HandBack {
  readonly #options: HandBackOptions
  readonly #releases = new Set<Promise<void>>()

  constructor(options: HandBackOptions) {
    this.#options = options
  }

  /** Stops tracking deliveries, and frees their leases. Never rejects. */
  async letGo(deliveries: readonly Delivery[]): Promise<void> {
    for (const delivery of deliveries) this.#options.inFlight.release(delivery)
    await this.release(deliveries.filter((delivery) => delivery.lock === undefined))
  }

  /** Frees leased rows. Never rejects: a row that cannot be freed is free when its lease has run out. */
  async release(deliveries: readonly Delivery[]): Promise<void> {
    if (deliveries.length === 0) return
    const release = this.#release(deliveries)
    this.#releases.add(release)
    await release
    this.#releases.delete(release)
  }

  /** Resolves when the store has answered all releases so far. */
  async idle(): Promise<void> {
    await Promise.all(this.#releases)
  }

  async #release(deliveries: readonly Delivery[]): Promise<void> {
    const { store, logger, recovery } = this.#options
    try {
      await store.release(deliveries.map((delivery) => delivery.held))
    } catch (error) {
      recovery.failed(
        'Handing back',
        logger,
        `Handing back ${deliveries.length} events failed; they are free when their leases have run out. ${describeError(error)}`,
      )
    }
  }
}
