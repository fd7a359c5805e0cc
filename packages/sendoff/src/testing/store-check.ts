import type { CompleteStore, OutboxStore, RowId, StorePart } from '../store/index.ts'

/** One promise of the store contract, which any test runner can check on any store. */
export interface StoreCheck {
  /** `topic: a sentence`. */
  readonly name: string
  /** The optional parts of a store that the check uses. */
  readonly needs?: readonly StorePart[]
  /** The check needs a second handle on the same data, as another process would have. */
  readonly needsAnother?: true
  /** The check needs a row that was changed by hand. */
  readonly needsSpoiledRow?: true
  /** Rejects if the store breaks the promise. Call it only if `skipReason` returns undefined. */
  run<Tx>(context: StoreCheckContext<Tx>): Promise<void>
}

/** The store of a check, and what else the check may use. */
export interface StoreCheckContext<Tx, Store = OutboxStore<Tx>> {
  /** A store for this check alone: migrated and empty. */
  readonly store: Store
  /** Lets `ms` pass on the store's clock. Returns at once if the test can set that clock. */
  readonly wait: (ms: number) => Promise<void>
  /** Opens the same data once more, as another process would. The runner of the check closes it. */
  readonly another?: () => Promise<Store>
  /**
   * Changes a row behind the store's back, as no writer would: to no payload, an infinite time, or another
   * value that is hard to read. Left out if only the store can reach its rows.
   */
  readonly spoil?: (row: RowId) => Promise<void>
}

/**
 * A check as it is written. `needs` has to name every part that it uses: the store may leave out any other.
 */
export interface PartCheck extends Omit<StoreCheck, 'run'> {
  run<Tx>(context: StoreCheckContext<Tx, CompleteStore<Tx>>): Promise<void>
}

/**
 * Returns why the runner has to skip a check: a part that the store or the runner leaves out. Returns
 * undefined if the check can run.
 */
export function skipReason<Tx>(
  check: StoreCheck,
  { store, another, spoil }: Omit<StoreCheckContext<Tx>, 'wait'>,
): string | undefined {
  const missing = check.needs?.filter((part) => store[part] === undefined) ?? []
  if (missing.length > 0) return `the store leaves out ${missing.join(' and ')}`
  if (check.needsAnother && another === undefined) return 'the store cannot be opened twice'
  if (check.needsSpoiledRow && spoil === undefined) return 'only the store can reach its rows'
  return undefined
}
