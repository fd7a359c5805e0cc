import type { OutboxStore } from '../../../packages/sendoff/src/store/index.ts'

/** A store as the fault tests need it: its data is found by a text, which processes are told. */
export interface FaultStore {
  /** Makes a place for the data of a run, given a folder of its own. */
  site(folder: string, slots: RunSlots): Promise<FaultSite>
  open(location: string): OpenedStore
  /** Makes the table of the business data that events are written with. */
  prepare(location: string): Promise<void>
  addBusinessRow(tx: any, id: string): Promise<void>
  /** Ends the session of a transaction so late that its commit is what fails. */
  endSession?(tx: any): void
  /** Tells only after the commit that an idempotency key was used before, so that a write answers its own id. */
  readonly answersDuplicatesLater?: true
  businessRows(location: string): Promise<readonly string[]>
  /** The lock of a single writer, for whoever reaches into the database past the store. */
  readonly lock?: LockAccess
}

export interface LockAccess {
  /** Whose it is; undefined while there is none. */
  token(location: string): Promise<string | undefined>
  delete(location: string): Promise<void>
  /** Overwrites its owner by a thief's, for so long. */
  steal(location: string, forMs: number): Promise<void>
}

/** The places that the processes of a run have, by name. */
export interface RunSlots {
  readonly workers: readonly string[]
  /** Some of these deliver as well. */
  readonly writers: readonly string[]
}

export interface OpenedStore {
  readonly store: OutboxStore<any>
  /** Ends what the store was handed, after the store itself was closed. */
  end(): Promise<void>
}

/** Where a run takes place: the data that its processes share, and the harm that can be done on the way to it. */
export interface FaultSite {
  /** Where the driver finds the data, whatever is done to others. */
  readonly location: string
  /** How the processes of a slot get at the data. */
  accessOf(slot: string): ProcessAccess
  /** The harm this site can do, by name. */
  readonly harms: Readonly<Record<string, SiteHarm>>
  close(): Promise<void>
}

export interface ProcessAccess {
  readonly location: string
  /** What its processes find in their environment on top of the usual. */
  readonly environment?: NodeJS.ProcessEnv
  /** How many transactions a writer has open at the same time; 1 unless told otherwise. */
  readonly lanes?: number
}

export interface SiteHarm {
  /** How often it is done, compared with others. */
  readonly weight: number
  /** The slots it can be done to, one at a time, unless it concerns all at once. */
  readonly targets: readonly string[] | 'everybody'
  /** How long it lasts, at least and at most, in leases. */
  readonly leases: readonly [number, number]
  /** Resolves when it is over. */
  do(slot: string, forMs: number): Promise<void>
}
