import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Lease, Row, RowId } from '../store/index.ts'

/** The way from a commit through memory to the dispatcher, as the writer sees it. */
export interface HotPath {
  /** The lease of new rows that have a place in the hot queue. */
  readonly lease: Lease

  /** Reserves a place for this event and destination, or returns why it takes the cold path. */
  reserve(event: EventEnvelope, destination: string): HotSlot | ColdReason

  /**
   * Wakes the poller for committed rows that no process holds. Wakes other processes too, unless the
   * transaction did.
   */
  leftToPoller(left: readonly LeftToPoller[], isAnnounced: boolean): void

  /** Wakes the poller for rows of a transaction whose end the outbox does not see. */
  perhapsLater(): void
}

/** A place in the hot queue, reserved from the write to the end of its transaction. */
export interface HotSlot {
  /**
   * Dispatches a committed row. If its transaction was open for long, the row is first claimed from the
   * database.
   */
  fill(row: Row): void
  /**
   * Dispatches a row that may be committed, if the database has it. If `inDoubt`, the commit may still be
   * under way, so it asks several times. `onKnown` gets whether the row exists, or undefined if the row was
   * not found: another process may hold it.
   */
  lookUp(key: RowId, inDoubt: boolean, onKnown?: (exists: boolean | undefined) => void): void
  /** Frees the place. */
  giveBack(): void
}

/** An event that takes the cold path. */
export interface LeftToPoller {
  readonly event: EventEnvelope
  readonly destination: string
  /** The partition of the ordering key; null for events without one. */
  readonly partition: number | null
  readonly reason: ColdReason
}

/** Why an event takes the cold path. `broken`: its destination is failing now. */
export type ColdReason = 'delayed' | 'full' | 'noListener' | 'stopped' | 'broken'

/**
 * Returns whether a poller should look for a row now. A delayed row is not due yet, and one whose destination
 * is failing can wait until the next regular poll.
 */
export function isWantedNow(reason: ColdReason): boolean {
  return reason !== 'delayed' && reason !== 'broken'
}
