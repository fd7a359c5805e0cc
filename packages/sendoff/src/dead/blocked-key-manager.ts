import { checkOptions, count, textOrEmpty } from '../options.ts'
import type {
  BlockedKey,
  BlockedKeyFilter,
  KeyName,
  NewAuditEntry,
  OutboxOrderingKeys,
} from '../store/index.ts'
import { checkNames } from '../store/names.ts'

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
   * Returns blocked keys of one destination by name: those whose first event has failed, and those that are
   * parked. Each comes with the number of events that wait behind the first. For the next page, pass the last
   * key as `after`. Default: keys of the empty destination.
   */
  async query(filter: Partial<BlockedKeyFilter> = {}): Promise<readonly BlockedKey[]> {
    checkOptions('blockedKeys.query', filter, {
      limit: count,
      after: textOrEmpty,
      destination: textOrEmpty,
    })
    const { limit = 100 } = filter
    return this.#options.keys.blocked({ ...filter, limit })
  }

  /** Makes the first event of a key due now, for one destination. Returns false if it does not wait. */
  async retry(orderingKey: string, destination = ''): Promise<boolean> {
    const key = { orderingKey, destination }
    return this.#changed(this.#options.keys.retry(key, this.#entry('retryKey', key)))
  }

  /**
   * Makes the first event of a key DEAD, for one destination, so that the next one has its turn. An operator
   * can replay it like any other.
   */
  async skip(orderingKey: string, reason = 'Skipped by hand.', destination = ''): Promise<boolean> {
    const key = { orderingKey, destination }
    const audit = this.#entry('skipKey', key, { reason })
    return this.#changed(this.#options.keys.skip({ ...key, reason }, audit))
  }

  /**
   * Stops the delivery of this key to one destination until it is unparked. An event that a listener is
   * handling is still settled.
   */
  async park(orderingKey: string, destination = ''): Promise<void> {
    const key = { orderingKey, destination }
    return this.#options.keys.park(key, this.#entry('park', key))
  }

  async unpark(orderingKey: string, destination = ''): Promise<void> {
    const key = { orderingKey, destination }
    return this.#changed(this.#options.keys.unpark(key, this.#entry('unpark', key)))
  }

  #entry(action: string, key: KeyName, more: { readonly reason?: string } = {}): NewAuditEntry {
    checkNames(`blockedKeys.${action.replace('Key', '')}`, { destination: '', ...key, ...more })
    const detail = JSON.stringify({ ...detailOf(key), ...more })
    return { actor: this.#options.actor ?? null, action, detail }
  }

  async #changed<Answer>(change: Promise<Answer>): Promise<Answer> {
    const answer = await change
    this.#options.onChanged()
    return answer
  }
}

// Without routing, entries of the audit do not name the destination.
function detailOf({ orderingKey, destination = '' }: KeyName): object {
  return destination === '' ? { orderingKey } : { orderingKey, destination }
}
