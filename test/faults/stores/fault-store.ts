import type { StoreWith } from '../../../packages/sendoff/src/store/index.ts'

/** A store for fault tests. Processes find its data by a text. */
export interface FaultStore {
  /** Creates a site for the data of a run, in a folder of its own. */
  site(folder: string, slots: RunSlots): Promise<FaultSite>
  open(location: string): OpenedStore
  /** Creates the table of the business data that events are written with. */
  prepare(location: string): Promise<void>
  addBusinessRow(tx: any, id: string): Promise<void>
  /** Ends the session of a transaction so late that its commit is what fails. */
  endSession?(tx: any): void
  /** The store finds a used idempotency key only after the commit, so that a write returns its own id. */
  readonly answersDuplicatesLater?: true
  /** How long its server may keep the transaction of a client that is gone unnoticed, in ms; 0 by default. */
  readonly abandonedMs?: number
  businessRows(location: string): Promise<readonly string[]>
  /** The lock of a single writer, for a driver that changes it past the store. */
  readonly lock?: LockAccess
}

export interface LockAccess {
  /** Returns the token of its owner; undefined while there is none. */
  token(location: string): Promise<string | undefined>
  delete(location: string): Promise<void>
  /** Makes the thief its owner, for so long. */
  steal(location: string, forMs: number): Promise<void>
}

/** The slots of a run, by name. */
export interface RunSlots {
  readonly workers: readonly string[]
  /** Some of these deliver as well. */
  readonly writers: readonly string[]
}

export interface OpenedStore {
  readonly store: StoreWith<any, 'people'>
  /** Ends the client of the store, after the store itself was closed. */
  end(): Promise<void>
}

/**
 * Where a run takes place: the data that its processes share, and the harm that can be done on the way to it.
 */
export interface FaultSite {
  /** Where the driver finds the data, whatever harm is done to others. */
  readonly location: string
  /** Returns how the processes of a slot reach the data. */
  accessOf(slot: string): ProcessAccess
  /** The harm this site can do, by name. */
  readonly harms: Readonly<Record<string, SiteHarm>>
  close(): Promise<void>
}

export interface ProcessAccess {
  readonly location: string
  /** Variables for its processes, in addition to the usual ones. */
  readonly environment?: NodeJS.ProcessEnv
  /** How many transactions a writer has open at the same time; 1 by default. */
  readonly lanes?: number
}

export interface SiteHarm {
  /** How often it is done, compared with others. */
  readonly weight: number
  /** The slots that it can be done to, one at a time, unless it harms all at once. */
  readonly targets: readonly string[] | 'everybody'
  /** How long it lasts, at least and at most, in leases. */
  readonly leases: readonly [number, number]
  /** Resolves when it is over. */
  do(slot: string, forMs: number): Promise<void>
}
