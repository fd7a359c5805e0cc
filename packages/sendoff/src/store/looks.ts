import type { EventStatus } from './event-status.ts'
import type { RowId, StoredRow } from './rows.ts'

/** What operators see of a table. Every call only reads: a database user without other rights is enough. */
export interface OutboxLooks {
  /** Returns the kind of database, and a name that tells this table from others. */
  describe(): Promise<StoreDescription>

  /**
   * Counts rows by status, event type and destination. Each part of the answer is exact for up to `bound`
   * rows. If there are more, it counts some of the newest ones, and estimates how many there are.
   */
  tally(request: TallyRequest): Promise<Tally>

  /** Returns the time of the database's clock, and the highest `seq` of all rows: 0 for an empty table. */
  bound(): Promise<LookBound>

  /**
   * Returns up to `limit` rows that match, newest or oldest first, behind the place `after`.
   *
   * Examines at most `window` rows in the order of an index, so that no call takes long. Rows that are all
   * DEAD, all blocked, or all pending come in write order. Other rows come in write order, too, or in the
   * order of their event ids, which begin with the time.
   */
  scan(request: ScanRequest): Promise<ScanAnswer>

  /**
   * Groups the `newest` DEAD rows by event type, destination and error text. Texts are cut at
   * `maxFailureText` characters. Texts that differ in digits alone, and not before their first colon, may be
   * one group, under one of them.
   */
  failures(request: FailuresRequest): Promise<FailuresAnswer>
}

/** A store by its kind and name. */
export interface StoreDescription {
  /** `postgres`, `mysql`, `sqlite`, `redis`, `memory` or another. */
  readonly kind: string
  /** Differs from the names of all other tables that an operator may work with. */
  readonly name: string
}

/** How many rows to count. */
export interface TallyRequest {
  readonly bound: number
}

/** The counts of a table. */
export interface Tally {
  /** The time of the database's clock. */
  readonly at: number
  /** NEW and RETRY rows. */
  readonly pending: TallyPart
  readonly dead: TallyPart
  /** Rows in any state, so that DONE rows are counted, too. */
  readonly all: TallyPart
  /** How many rows are blocked. If more than `bound` are pending and more are dead, at least as many. */
  readonly blocked: number
  /** The parked ordering keys by name: up to `maxParkedKeys`. */
  readonly parked: readonly string[]
  /** The row that has been due for the longest time and is not blocked; undefined if no row is due. */
  readonly oldestDue: OldestDue | undefined
}

/** The counts of some rows. */
export interface TallyPart {
  readonly groups: readonly TallyGroup[]
  /** How many rows there are: exact if they are at most `bound`, and an estimate above it otherwise. */
  readonly total: number
  /** Whether every row was counted. */
  readonly isExact: boolean
}

/** The number of rows that are alike. */
export interface TallyGroup {
  readonly status: EventStatus
  readonly eventType: string
  readonly destination: string
  readonly count: number
}

/** The row that has been due for the longest time. */
export interface OldestDue extends RowId {
  readonly eventType: string
  readonly availableAt: number
}

/** The end of what a plan may touch. */
export interface LookBound {
  readonly at: number
  readonly seq: number
}

/** Which rows to look for. All parts have to match, texts byte by byte. */
export interface LookFilter {
  /** Any of these states. */
  readonly status?: readonly EventStatus[] | undefined
  /** Only rows that wait for an operator. */
  readonly isBlocked?: true | undefined
  readonly eventId?: string | undefined
  readonly eventType?: string | undefined
  readonly destination?: string | undefined
  readonly aggregateType?: string | undefined
  readonly aggregateId?: string | undefined
  readonly tenantId?: string | undefined
  readonly orderingKey?: string | undefined
  /** Only rows written at or after this time. In the order of ids, also only ids made about then. */
  readonly since?: number | undefined
  /** Only rows written before this time. */
  readonly until?: number | undefined
  /** Only rows whose last error is of this class: the text before its first colon. */
  readonly errorClass?: string | undefined
  /** Only rows with this text in the payload or in the last error. Payloads of bytes are not searched. */
  readonly text?: string | undefined
  /** Only rows that had ended, were blocked or were written by this time, and have no higher `seq`. */
  readonly bound?: LookBound | undefined
}

/** A search for rows. */
export interface ScanRequest {
  readonly filter: LookFilter
  readonly order: ScanOrder
  /** Returns only rows behind this place in the order asked for. */
  readonly after?: ScanPlace | undefined
  readonly limit: number
  readonly window: number
}

/** Which rows come first. */
export type ScanOrder = 'newest' | 'oldest'

/** The place of a row in every order of a scan. Every row is one. */
export interface ScanPlace extends RowId {
  readonly seq: number
}

/** The rows that a scan found. */
export interface ScanAnswer {
  readonly rows: readonly StoredRow[]
  /** Where the next scan continues; undefined if this one examined everything. */
  readonly next: ScanPlace | undefined
}

/** How many DEAD rows to group. */
export interface FailuresRequest {
  readonly newest: number
}

/** Groups of DEAD rows. */
export interface FailuresAnswer {
  readonly groups: readonly FailureGroup[]
  /** How many rows were examined. */
  readonly examined: number
  /** Whether these were all DEAD rows. */
  readonly isComplete: boolean
}

/** DEAD rows with the same type, destination and error text. */
export interface FailureGroup {
  readonly eventType: string
  readonly destination: string
  readonly error: string
  readonly count: number
  /** When the first of them ended. */
  readonly firstAt: number
  readonly lastAt: number
  /** The id of one of them, which has this error text. */
  readonly sample: string
}

/** The length in characters at which error texts are cut before they are grouped. */
export const maxFailureText = 300

/** How many parked keys a tally names at most. */
export const maxParkedKeys = 100

/** How far the time of an event id may be from the time when its row was written, for a search by time. */
export const idTimeMarginMs = 3_600_000
