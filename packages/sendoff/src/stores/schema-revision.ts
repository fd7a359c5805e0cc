import { OutboxError } from '../errors.ts'

/**
 * The revision of the schema that this code makes. Each migration has the next number.
 *
 * A store keeps four values about its schema. `revision` is the number of the last migration.
 * `oldest_code` is the oldest revision of code that can run on the schema. `made_by` is the version of the
 * package that migrated last. `version` is all that the first release reads: it refuses every number above 1.
 * So `version` stays at 1 until a migration shuts the first release out.
 */
export const codeRevision = 4

/** The revision of the code that knows destinations. A table with a routing shuts older code out. */
export const routingRevision = 4

/** The oldest schema on which this code can deliver. What needs a later one fails on its own. */
export const oldestUsableRevision = 1

/** The oldest revision of code that can run on the schema of this code. */
export const oldestCode = 1

/** The version that the first release reads. */
export const firstReleaseVersion = 1

/** The state of a schema in a database. */
export interface StoredSchema {
  /** 0 if none is stored. */
  readonly revision: number
  /** 0 if none is stored. */
  readonly version: number
  /** Names of tables and functions that are missing, by the revision that brings them. */
  readonly missing: readonly MissingPart[]
}

/** A table or function that is missing. */
export interface MissingPart {
  readonly name: string
  readonly revision: number
}

/** The values that a store keeps about its schema; what was never stored is undefined. */
export interface SchemaValues {
  readonly version?: string | undefined
  readonly revision?: string | undefined
  readonly oldestCode?: string | undefined
  readonly madeBy?: string | undefined
}

/**
 * Returns the revision and the version that are stored. Throws if this code is too old for the schema.
 * `place` names the schema in the error.
 */
export function knownSchema(
  place: string,
  values: SchemaValues,
): { readonly revision: number; readonly version: number } {
  const version = Number(values.version ?? 0)
  const revision = Number(values.revision ?? version)
  const needed = Math.max(version, Number(values.oldestCode ?? 0))
  if (needed <= codeRevision) return { revision, version }

  const { madeBy } = values
  const release = madeBy === undefined ? 'the version of sendoff that migrated it' : `sendoff ${madeBy}`
  throw new OutboxError(
    'OUTBOX_SCHEMA_TOO_NEW',
    `${place} has revision ${revision}, and code before revision ${needed} cannot run on it. This version of ` +
      `sendoff has revision ${codeRevision}. Deploy ${release} here, or a later one.`,
  )
}

/** Whether `migrate` has nothing to do. A schema of newer code counts as complete if it lacks nothing. */
export function isComplete({ revision, version, missing }: StoredSchema): boolean {
  return revision >= codeRevision && version >= firstReleaseVersion && missing.length === 0
}

/** Whether this code can deliver on the schema: it is complete for its own revision, which may be older. */
export function isUsable(stored: StoredSchema): boolean {
  return stored.revision >= oldestUsableRevision && missingNow(stored).length === 0
}

/** Throws if this code cannot deliver on the schema as it is. */
export function assertUsable(place: string, stored: StoredSchema): void {
  if (isUsable(stored)) return

  const missing = missingNow(stored)
  const state =
    missing.length > 0
      ? `${missing.length === 1 ? 'it lacks' : 'it lacks all of'} ${missing.join(', ')}`
      : `it has revision ${stored.revision}, and this version of sendoff needs ${oldestUsableRevision}`
  throw new OutboxError(
    'OUTBOX_SCHEMA_NOT_READY',
    `${place} is not ready: ${state}. Call await store.migrate() or run the SQL of store.schemaSql(), ` +
      'as a database user that may create tables; then start again. Or leave the option "migrate: false" out.',
  )
}

// The error for a call that needs tables or columns which the schema does not have yet.
function behindCode(place: string, revision: number, cause: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_SCHEMA_NOT_READY',
    `${place} lacks tables or columns of revision ${revision}, which this call needs. Call await store.migrate() or run ` +
      'the SQL of store.schemaSql(), as a database user that may create and alter tables. Events are delivered meanwhile.',
    { cause },
  )
}

/** Throws unless the schema has at least this revision. */
export function assertRevision(place: string, stored: number, needed: number): void {
  if (stored < needed) throw behindCode(place, needed, undefined)
}

/**
 * Runs a call that needs the tables of a revision. If the schema lacks them, rejects with
 * `OUTBOX_SCHEMA_NOT_READY`, which names what to run.
 */
export async function needingRevision<Result>(
  { place, revision, lacksSchema }: NeededRevision,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    throw lacksSchema(error) ? behindCode(place, revision, error) : error
  }
}

/** Returns a part of a store all of whose calls need the tables of a revision. */
export function partNeedingRevision<Part extends object>(needed: NeededRevision, part: Part): Part {
  const calls = Object.entries(part) as [string, (...args: unknown[]) => Promise<unknown>][]
  return Object.fromEntries(
    calls.map(([name, call]) => [name, (...args: unknown[]) => needingRevision(needed, () => call(...args))]),
  ) as Part
}

/** Options of `needingRevision`. */
export interface NeededRevision {
  /** Names the schema in the error. */
  readonly place: string
  readonly revision: number
  /** Whether an error of the database means that a table or a column does not exist. */
  readonly lacksSchema: (error: unknown) => boolean
}

/**
 * Whether the steps of a revision have to run: it is not recorded, or something of it is missing. The same if
 * something older is missing: a table that is created anew lacks the columns that came later.
 */
export function needsSteps({ revision: stored, missing }: StoredSchema, revision: number): boolean {
  return stored < revision || missing.some((part) => part.revision <= revision)
}

// Parts of a later revision than the stored one are not expected yet.
function missingNow({ revision, missing }: StoredSchema): readonly string[] {
  const expected = Math.max(revision, oldestUsableRevision)
  return missing.filter((part) => part.revision <= expected).map((part) => part.name)
}
