import type { Clock } from '../clock.ts'
import { Delivery } from '../delivery/delivery.ts'
import { validUntil } from '../delivery/local-validity.ts'
import type { Lease, OutboxStore, TypeName } from '../store/index.ts'
import { claimSource } from './claim-source.ts'
import type { Waker } from '../wake/waker.ts'
import { KeyScan } from './key-scan.ts'
import { noPending, type PendingBatch, type PendingSource } from './pending-source.ts'

/** Options of `TypedClaimSource`. */
export interface TypedClaimSourceOptions {
  readonly store: Pick<OutboxStore<never>, 'claim' | 'claimTypes'>
  /** Returns the types to claim, the same array until they change; undefined for all. */
  readonly types: () => readonly TypeName[] | undefined
  /** Claims only rows for this destination. */
  readonly destination: string
  /** Whether the table may have rows for other destinations. */
  readonly hasOthers: () => boolean
  readonly lease: Lease
  readonly clock: Clock
  readonly skipRecentMs: number
  /** The longest pause between two polls from the start, in milliseconds, unless these polls take longer. */
  readonly intervalMs: number
  /** Makes the poller poll again after some milliseconds. */
  readonly waker: Pick<Waker, 'wake'>
}

/** How many due rows one claim scans. This bounds its time, however many rows of other types are due. */
const window = 2_000

/**
 * Leases rows for one destination one by one, and perhaps only those that this process has a listener for.
 * It leaves others to processes that have one.
 *
 * Rows of other types or destinations stay due, at the front. Once a poll has passed many of them, the next
 * polls begin behind them. Polls from the start then take up a twentieth of the time, or run once per
 * interval. They find late commits, released rows and expired leases.
 */
export class TypedClaimSource implements PendingSource {
  readonly #options: TypedClaimSourceOptions
  readonly #ofAllTypes: PendingSource
  #types: readonly TypeName[] | undefined = []
  #looks: KeyScan

  constructor(options: TypedClaimSourceOptions) {
    this.#options = options
    this.#ofAllTypes = claimSource(options)
    this.#looks = new KeyScan(options.clock, options.intervalMs)
  }

  async fetch(limit: number, hasNews: boolean): Promise<PendingBatch> {
    const types = this.#options.types()
    if (types === undefined && !this.#options.hasOthers()) return this.#ofAllTypes.fetch(limit, hasNews)

    const hasNewTypes = types !== this.#types
    this.#types = types
    if (hasNewTypes) this.forgetWaiting()
    if (hasNews || hasNewTypes) this.#beginLook()
    if (types?.length === 0 || this.#looks.from === 'nowhere') return noPending
    return this.#claim(limit, types, this.#looks)
  }

  startOver(): void {
    this.#ofAllTypes.startOver?.()
  }

  /** Makes the next poll begin at the start. */
  forgetWaiting(): void {
    this.#looks = new KeyScan(this.#options.clock, this.#options.intervalMs)
  }

  async #claim(limit: number, types: readonly TypeName[] | undefined, looks: KeyScan): Promise<PendingBatch> {
    const { store, lease, clock, skipRecentMs, destination } = this.#options
    const { from } = looks
    const askedAt = clock.monotonic()
    const holding = { validUntil: validUntil(askedAt, lease.ms) }
    const { rows, next } = await store.claimTypes({
      lease,
      limit,
      types,
      destination,
      window,
      skipRecentMs,
      ...(typeof from === 'object' && { from }),
    })
    looks.cameTo(next, rows.length === 0 ? clock.monotonic() - askedAt : 0)
    if (looks.isWantedAgain) this.#beginLook()
    return {
      deliveries: rows.map((row) => new Delivery(row, 'cold', holding)),
      hasMore: this.#looks.from !== 'nowhere',
    }
  }

  #beginLook(): void {
    const waitMs = this.#looks.begin()
    if (waitMs !== undefined) this.#options.waker.wake(waitMs)
  }
}
