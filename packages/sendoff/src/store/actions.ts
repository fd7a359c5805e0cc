import type { RowId } from './rows.ts'

/**
 * What operators do to rows, and the record of it. An action and its audit entry are one transaction: both
 * are kept, or none.
 */
export interface OutboxActions<Tx> {
  /** Acts on rows, and adds or continues an audit entry in the same transaction. */
  run(request: ActionRequest): Promise<ActionAnswer>

  /**
   * Cancels an event as part of the caller's transaction. Left out if transactions of this store cannot read
   * what they change.
   */
  cancelWithin?(request: CancelRequest<Tx>): Promise<CancelAnswer>

  /**
   * Adds an audit entry, and returns its id. With `tx`, the entry is kept if that transaction is. The id is
   * empty if the database numbers the entry only after the commit.
   */
  record(request: RecordRequest<Tx>): Promise<string>

  /** Returns audit entries, newest first. */
  audit(filter: AuditFilter): Promise<readonly AuditEntry[]>

  /** Returns the audit entries about one row, oldest first: up to `limit` of the newest ones. */
  auditOf(request: AuditOfRequest): Promise<readonly AuditEntry[]>

  /**
   * Deletes up to `limit` audit entries that were added more than `olderThanMs` milliseconds ago, oldest
   * first. Keeps plans that are still running. Returns how many it deleted.
   */
  purgeAudit(request: PurgeAuditRequest): Promise<number>
}

/**
 * An action on rows.
 *
 * - `replay`: makes DEAD rows NEW and due at once. Sets attempts and losses to 0, and clears error, lease and
 *   end.
 * - `cancel`: makes pending rows DEAD that no worker holds, with `reason`.
 * - `skip`: makes blocked rows DEAD, with `reason`.
 * - `purge`: deletes DONE and DEAD rows with their failed attempts.
 *
 * Every action raises the fence of a row that stays. Rows in another state are left alone.
 */
export type RowAction = 'replay' | 'cancel' | 'skip' | 'purge'

/** One batch of an action. */
export interface ActionRequest {
  readonly action: RowAction
  readonly rows: readonly ActionRow[]
  /** The error text of rows that become DEAD. */
  readonly reason?: string | undefined
  /** A new audit entry, or the next step of a plan. No entry is added if no row was changed. */
  readonly audit: NewAuditEntry | AuditStep
}

/** A row to act on. With `deliveries`, the store leaves it alone if its fence has changed. */
export interface ActionRow extends RowId {
  readonly deliveries?: number | undefined
}

/** The result of an action. */
export type ActionAnswer =
  | {
      readonly kind: 'ran'
      /** The rows that were changed. */
      readonly rows: readonly RowId[]
      /** The rows that were not cancelled, because a worker holds them. */
      readonly held: readonly HolderOfRow[]
    }
  /** The plan has moved on, or is gone: another process runs it. Nothing was changed. */
  | { readonly kind: 'overtaken' }

/** A row, and the worker that holds it: the owner of its lease, or the token of a lock. */
export interface HolderOfRow extends RowId {
  readonly holder: string
}

/** An event to cancel in a transaction: all rows of an event, or of the event that used a key. */
export interface CancelRequest<Tx> {
  readonly tx: Tx
  readonly event: { readonly eventId: string } | { readonly idempotencyKey: string }
  readonly reason: string
  readonly audit: NewAuditEntry
}

/** The result of a cancellation. */
export interface CancelAnswer {
  /** The id of the event; undefined if there is none. */
  readonly eventId: string | undefined
  readonly rows: readonly RowId[]
  readonly held: readonly HolderOfRow[]
}

/** An audit entry to add. */
export interface NewAuditEntry {
  /** Who acts. */
  readonly actor: string | null
  readonly action: string
  /** What the action is about, as JSON. */
  readonly detail?: string | null | undefined
  /** The plan that runs, as JSON. */
  readonly plan?: string | null | undefined
  /** `running`, `done` or `stopped` for a plan. */
  readonly state?: string | null | undefined
  /** How far a plan has got, as JSON. */
  readonly progress?: string | null | undefined
}

/** The next step of a plan. */
export interface AuditStep {
  /** The id of the entry of the plan. */
  readonly id: string
  /** The progress that the caller has read. If it has changed since, another process runs the plan. */
  readonly expects: string | null
  readonly progress: string | null
  readonly state: string | null
}

/** An audit entry, and the transaction to add it in. */
export interface RecordRequest<Tx> {
  readonly entry: NewAuditEntry
  /** The rows that it is about. */
  readonly rows: readonly RowId[]
  /** How many rows the action changed. Default: all that it is about. */
  readonly affected?: number | undefined
  readonly tx?: Tx | undefined
}

/** Which audit entries to find. */
export interface AuditFilter {
  /** Finds one entry. */
  readonly id?: string | undefined
  /** Finds only entries that were added before this one. */
  readonly before?: string | undefined
  readonly limit: number
}

/** The row to find audit entries about. */
export interface AuditOfRequest {
  readonly row: RowId
  readonly limit: number
}

/** Which audit entries to delete. */
export interface PurgeAuditRequest {
  readonly olderThanMs: number
  readonly limit: number
}

/** The record of an action. */
export interface AuditEntry {
  /** Rises with every entry, as a number. */
  readonly id: string
  readonly at: number
  readonly actor: string | null
  readonly action: string
  readonly detail: string | null
  readonly plan: string | null
  readonly state: string | null
  /** How many rows the action changed. */
  readonly affected: number
  readonly progress: string | null
  /** When a plan last took a step; null for other actions. */
  readonly updatedAt: number | null
}

/** Whether an audit entry is the step of a plan. */
export function isAuditStep(audit: NewAuditEntry | AuditStep): audit is AuditStep {
  return 'expects' in audit
}
