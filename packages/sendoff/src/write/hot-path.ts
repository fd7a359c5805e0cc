import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Lease, Row, RowId } from '../store/index.ts'

/** The way from a commit straight to the dispatcher, as the writer sees it. */
export interface HotPath {
  /** The lease that rows with a slot are born with. */
  readonly lease: Lease

  /** A place for this event, or why it has to take the cold path. */
  reserve(event: EventEnvelope): HotSlot | ColdReason

  /** Tells the poller of committed rows without a holder, and other processes unless they are told already. */
  leftToPoller(left: readonly LeftToPoller[], isAnnounced: boolean): void

  /** Tells the poller of rows in a transaction whose end cannot be seen. */
  perhapsLater(): void
}

/** A place kept in the hot queue from the write to the end of its transaction. */
export interface HotSlot {
  /** The row is committed: dispatch it, from the database where its transaction was open for long. */
  fill(row: Row): void
  /**
   * The row may be committed: dispatch it if the database has it. In doubt, where the commit may
   * still be under way, the database is asked for some time. `onKnown` is told whether the row exists; undefined where it
   * was not found, which may mean that another process holds it.
   */
  lookUp(key: RowId, inDoubt: boolean, onKnown?: (exists: boolean | undefined) => void): void
  giveBack(): void
}

export interface LeftToPoller {
  readonly event: EventEnvelope
  /** Null for events without an ordering key. */
  readonly partition: number | null
  readonly reason: ColdReason
}

/** `broken`: what it would go to fails at the moment. */
export type ColdReason = 'delayed' | 'full' | 'noListener' | 'stopped' | 'broken'
