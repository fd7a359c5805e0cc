import { anything, checkOptions } from '../options.ts'
import type { BlockedKey, NewAuditEntry } from '../store/index.ts'
import type { AdminStore } from './admin-store.ts'
import { pageSize } from './limits.ts'

/** Options of a list of blocked keys. */
export interface BlockedKeyOptions {
  /** How many keys a page has: 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** Returns only keys behind this one, by name: the last key of the page before. */
  readonly after?: string
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
    checkOptions('keys.blocked', options, { limit: pageSize, after: anything })
    return this.#store.call('keys.blocked', ['orderingKeys'], ({ orderingKeys }) =>
      orderingKeys.blocked({ limit: 100, ...options }),
    )
  }

  /** Makes the first event of a key due now. Returns false if it does not wait. */
  async retry(orderingKey: string): Promise<boolean> {
    const entry = this.#entry('retryKey', { orderingKey })
    return this.#store.call('keys.retry', ['orderingKeys'], async (store) => {
      const isRetried = await store.orderingKeys.retry(orderingKey, entry)
      if (isRetried) await store.wakeUps?.announce().catch(() => {})
      return isRetried
    })
  }

  /** Makes the first event of a key DEAD, so that the next one has its turn. */
  async skip(orderingKey: string, reason = 'Skipped.'): Promise<boolean> {
    const entry = this.#entry('skipKey', { orderingKey, reason })
    return this.#store.call('keys.skip', ['orderingKeys'], async (store) => {
      const isSkipped = await store.orderingKeys.skip({ orderingKey, reason }, entry)
      if (isSkipped) await store.wakeUps?.announce().catch(() => {})
      return isSkipped
    })
  }

  /** Stops the delivery of a key until it is unparked. */
  async park(orderingKey: string): Promise<void> {
    const entry = this.#entry('park', { orderingKey })
    await this.#store.call('keys.park', ['orderingKeys'], ({ orderingKeys }) =>
      orderingKeys.park(orderingKey, entry),
    )
  }

  /** Lifts `park`. */
  async unpark(orderingKey: string): Promise<void> {
    const entry = this.#entry('unpark', { orderingKey })
    await this.#store.call('keys.unpark', ['orderingKeys'], async (store) => {
      await store.orderingKeys.unpark(orderingKey, entry)
      await store.wakeUps?.announce().catch(() => {})
    })
  }

  #entry(action: string, detail: object): NewAuditEntry {
    return { actor: this.#actor(action), action, detail: JSON.stringify(detail) }
  }
}
