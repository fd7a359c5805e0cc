import type { CompleteStore, OutboxStore, RowId, StorePart } from '../store/index.ts'

/** One promise of the store contract, checked on any store by any test runner. */
export interface StoreCheck {
  /** `topic: a sentence`. */
  readonly name: string
  /** The parts that the check uses; a store may leave them out. */
  readonly needs?: readonly StorePart[]
  /** Needs a second handle on the same data, as another process would have. */
  readonly needsAnother?: true
  /** Needs a row that was changed by hand. */
  readonly needsSpoiledRow?: true
  /** Rejects where the store breaks the promise. To be called only where `skipReason` knows none. */
  run<Tx>(context: StoreCheckContext<Tx>): Promise<void>
}

/** What a check is run on. */
export interface StoreCheckContext<Tx, Store = OutboxStore<Tx>> {
  /** A store of its own for every check: migrated and empty. */
  readonly store: Store
  /** Lets `ms` pass by the store's clock. Instant where that clock can be set. */
  readonly wait: (ms: number) => Promise<void>
  /** Opens the same data once more, as another process would. The runner of the check closes it. */
  readonly another?: () => Promise<Store>
  /**
   * Changes a row as no writer would, past the store: it has no payload then, or an endless time, or whatever else is hard to
   * read. Left out where nothing but the store gets at its rows.
   */
  readonly spoil?: (row: RowId) => Promise<void>
}

/** A check as it is written. `needs` has to name every part that it uses: the store may leave out any other. */
export interface PartCheck extends Omit<StoreCheck, 'run'> {
  run<Tx>(context: StoreCheckContext<Tx, CompleteStore<Tx>>): Promise<void>
}

/** Why a check is to be skipped, for the runner to show: what the store or the runner leaves out. Undefined where it can be run. */
export function skipReason<Tx>(
  check: StoreCheck,
  { store, another, spoil }: Omit<StoreCheckContext<Tx>, 'wait'>,
): string | undefined {
  const missing = check.needs?.filter((part) => store[part] === undefined) ?? []
  if (missing.length > 0) return `the store leaves out ${missing.join(' and ')}`
  if (check.needsAnother && another === undefined) return 'the store cannot be opened twice'
  if (check.needsSpoiledRow && spoil === undefined) return 'only the store gets at its rows'
  return undefined
}
