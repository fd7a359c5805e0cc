import type { BlockedKey, BlockedKeyFilter, OutboxOrderingKeys } from '../store/index.ts'

/** Options of `BlockedKeyManager`. */
export interface BlockedKeyManagerOptions {
  /** The part of the store that manages ordering keys. */
  readonly keys: OutboxOrderingKeys
  /** Something may be delivered again. */
  readonly onChanged: () => void
}

/** For people who watch over ordering keys: which do not go on by themselves, and what is to become of them. */
export class BlockedKeyManager {
  readonly #options: BlockedKeyManagerOptions

  constructor(options: BlockedKeyManagerOptions) {
    this.#options = options
  }

  /**
   * Keys by name whose first event failed, with what waits behind it, and those that are parked. The next ones come with the
   * last key as `after`.
   */
  query(filter: Partial<BlockedKeyFilter> = {}): Promise<readonly BlockedKey[]> {
    return this.#options.keys.blocked({ limit: 100, ...filter })
  }

  /** Delivers the first event of a key now. Answers false where it does not wait for anything. */
  retry(orderingKey: string): Promise<boolean> {
    return this.#changed(this.#options.keys.retry(orderingKey))
  }

  /** Makes the first event of a key DEAD, so that the next has its turn. It can be replayed like any other. */
  skip(orderingKey: string, reason = 'Skipped by hand.'): Promise<boolean> {
    return this.#changed(this.#options.keys.skip({ orderingKey, reason }))
  }

  /** Delivers nothing of this key until it is unparked. What is with a listener at the moment is settled. */
  park(orderingKey: string): Promise<void> {
    return this.#options.keys.park(orderingKey)
  }

  unpark(orderingKey: string): Promise<void> {
    return this.#changed(this.#options.keys.unpark(orderingKey))
  }

  async #changed<Answer>(change: Promise<Answer>): Promise<Answer> {
    const answer = await change
    this.#options.onChanged()
    return answer
  }
}
