import type { BlockedKey, BlockedKeyFilter, NewAuditEntry, OutboxOrderingKeys } from '../store/index.ts'

/** Options of `BlockedKeyManager`. */
export interface BlockedKeyManagerOptions {
  /** The part of the store that manages ordering keys. */
  readonly keys: OutboxOrderingKeys
  /** The actor of every decision in the audit. Default: none. */
  readonly actor?: string
  /** Called when events may be due again. */
  readonly onChanged: () => void
}

/** Lets an operator find ordering keys that are blocked, and decide about them. */
export class BlockedKeyManager {
  readonly #options: BlockedKeyManagerOptions

  constructor(options: BlockedKeyManagerOptions) {
    this.#options = options
  }

  /**
   * Returns blocked keys by name: those whose first event has failed, and those that are parked. Each comes
   * with the number of events that wait behind the first. For the next page, pass the last key as `after`.
   */
  query(filter: Partial<BlockedKeyFilter> = {}): Promise<readonly BlockedKey[]> {
    return this.#options.keys.blocked({ limit: 100, ...filter })
  }

  /** Makes the first event of a key due now. Returns false if it does not wait. */
  retry(orderingKey: string): Promise<boolean> {
    return this.#changed(this.#options.keys.retry(orderingKey, this.#entry('retryKey', { orderingKey })))
  }

  /**
   * Makes the first event of a key DEAD, so that the next one has its turn. An operator can replay it like
   * any other.
   */
  skip(orderingKey: string, reason = 'Skipped by hand.'): Promise<boolean> {
    const audit = this.#entry('skipKey', { orderingKey, reason })
    return this.#changed(this.#options.keys.skip({ orderingKey, reason }, audit))
  }

  /**
   * Stops the delivery of this key until it is unparked. An event that a listener is handling is still
   * settled.
   */
  park(orderingKey: string): Promise<void> {
    return this.#options.keys.park(orderingKey, this.#entry('park', { orderingKey }))
  }

  unpark(orderingKey: string): Promise<void> {
    return this.#changed(this.#options.keys.unpark(orderingKey, this.#entry('unpark', { orderingKey })))
  }

  #entry(action: string, detail: object): NewAuditEntry {
    return { actor: this.#options.actor ?? null, action, detail: JSON.stringify(detail) }
  }

  async #changed<Answer>(change: Promise<Answer>): Promise<Answer> {
    const answer = await change
    this.#options.onChanged()
    return answer
  }
}
