import type { OutboxStore, RowId } from '../store/index.ts'

/** One promise of the store contract, checked on any store by any test runner. */
export interface StoreCheck {
  /** `topic: a sentence`. */
  readonly name: string
  /** Needs a second handle on the same data, as another process would have. */
  readonly needsAnother?: true
  /** Needs a store that can share ordering keys among processes. */
  readonly needsPartitions?: true
  /** Needs a row that was changed by hand. */
  readonly needsSpoiledRow?: true
  run<Tx>(context: StoreCheckContext<Tx>): Promise<void>
}

export interface StoreCheckContext<Tx> {
  /** A store of its own for every check: migrated and empty. */
  readonly store: OutboxStore<Tx>
  /** Lets `ms` pass by the store's clock. Instant where that clock can be set. */
  readonly wait: (ms: number) => Promise<void>
  /** Opens the same data once more, as another process would. Closed by whoever runs the check. */
  readonly another?: () => Promise<OutboxStore<Tx>>
  /**
   * Changes a row as no writer would, past the store: it has no payload then, or an endless time, or whatever else is hard to
   * read. Left out where nothing but the store gets at its rows.
   */
  readonly spoil?: (row: RowId) => Promise<void>
}
