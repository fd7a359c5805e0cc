import { checkOptions, textOrEmpty } from '../options.ts'
import type { BlockedKey, KeyName, NewAuditEntry } from '../store/index.ts'
import { checkNames } from '../store/names.ts'
import type { AdminStore } from './admin-store.ts'
import { pageSize } from './limits.ts'

/** Options of a list of blocked keys. */
export interface BlockedKeyOptions {
  /** How many keys a page has: 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** Returns only keys behind this one, by name: the last key of the page before. */
  readonly after?: string
  /** Returns keys of this destination. Default: of the empty one. */
  readonly destination?: string
}

/** Ordering keys: which are blocked, and what to do about them. */
export class KeyAdmin<Tx> {
  readonly #store: AdminStore<Tx>
  readonly #actor: (what: string) => string

  constructor(store: AdminStore<Tx>, actor: (what: string) => string) {
    this.#store = store
    this.#actor = actor
  }

  /** Returns keys by name that are parked, or whose first pending event is blocked or has failed. */
  async blocked(options: BlockedKeyOptions = {}): Promise<readonly BlockedKey[]> {
    checkOptions('keys.blocked', options, {
      limit: pageSize,
      after: textOrEmpty,
      destination: textOrEmpty,
    })
    const { limit = 100 } = options
    return this.#store.call('keys.blocked', ['orderingKeys'], ({ orderingKeys }) =>
      orderingKeys.blocked({ ...options, limit }),
    )
  }

  /** Makes the first event of a key due now, for one destination. Returns false if it does not wait. */
  async retry(orderingKey: string, destination = ''): Promise<boolean> {
    const key = { orderingKey, destination }
    const entry = this.#entry('retryKey', key)
    return this.#store.call('keys.retry', ['orderingKeys'], async (store) => {
      const isRetried = await store.orderingKeys.retry(key, entry)
      if (isRetried) await store.wakeUps?.announce().catch(() => {})
      return isRetried
    })
  }

  /** Makes the first event of a key DEAD, for one destination, so that the next one has its turn. */
  async skip(orderingKey: string, reason = 'Skipped.', destination = ''): Promise<boolean> {
    const key = { orderingKey, destination }
    const entry = this.#entry('skipKey', key, { reason })
    return this.#store.call('keys.skip', ['orderingKeys'], async (store) => {
      const isSkipped = await store.orderingKeys.skip({ ...key, reason }, entry)
      if (isSkipped) await store.wakeUps?.announce().catch(() => {})
      return isSkipped
    })
  }

  /** Stops the delivery of a key to one destination until it is unparked. */
  async park(orderingKey: string, destination = ''): Promise<void> {
    const key = { orderingKey, destination }
    const entry = this.#entry('park', key)
    await this.#store.call('keys.park', ['orderingKeys'], ({ orderingKeys }) => orderingKeys.park(key, entry))
  }

  /** Lifts `park`. */
  async unpark(orderingKey: string, destination = ''): Promise<void> {
    const key = { orderingKey, destination }
    const entry = this.#entry('unpark', key)
    await this.#store.call('keys.unpark', ['orderingKeys'], async (store) => {
      await store.orderingKeys.unpark(key, entry)
      await store.wakeUps?.announce().catch(() => {})
    })
  }

  // Without routing, entries of the audit do not name the destination.
  #entry(
    action: string,
    { orderingKey, destination = '' }: KeyName,
    more: { readonly reason?: string } = {},
  ): NewAuditEntry {
    checkNames(`keys.${action.replace('Key', '')}`, { orderingKey, destination, ...more })
    const key = destination === '' ? { orderingKey } : { orderingKey, destination }
    return { actor: this.#actor(action), action, detail: JSON.stringify({ ...key, ...more }) }
  }
}
