import { describeError } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import type { Finding, FindingCode } from '../store/index.ts'
import { codeRevision, isUsable, type StoredSchema } from './schema-revision.ts'

/** What the doctor of a store reads its schema with. */
export interface SchemaReading {
  /** Names the schema in messages. */
  readonly place: string
  readonly read: () => Promise<StoredSchema> | StoredSchema
  /** Whether an error means that the database user lacks a right. */
  readonly isNotPermitted: (error: unknown) => boolean
  /** The SQL after a revision; left out if the store has none. */
  readonly sqlFrom?: (revision: number) => string
}

/** Returns what is wrong with a schema. */
export async function schemaFindings(reading: SchemaReading): Promise<readonly Finding[]> {
  const { place, read, isNotPermitted, sqlFrom } = reading
  let stored: StoredSchema
  try {
    stored = await read()
  } catch (error) {
    if (isNotPermitted(error)) return [rightsMissing('the revision of the schema', describeError(error))]
    const known = error instanceof OutboxError ? unusable[error.code] : undefined
    if (known === undefined) throw error
    return [{ ...known, severity: 'error', message: (error as OutboxError).message }]
  }
  const { revision, missing } = stored
  const names = missing.map(({ name }) => name).join(', ')
  const found = (code: FindingCode, severity: Finding['severity'], message: string): readonly Finding[] => [
    {
      code,
      severity,
      message: `${place} ${message}`,
      fix: 'Call await store.migrate(), or run the SQL of store.schemaSql(), as a database user that may create tables.',
      ...(sqlFrom && { sql: sqlFrom(code === 'SCHEMA_BEHIND' ? revision : 0) }),
    },
  ]
  if (revision === 0) return found('SCHEMA_MISSING', 'error', 'does not exist: no outbox can start on it.')
  if (!isUsable(stored)) return found('SCHEMA_INCOMPLETE', 'error', `lacks ${names}: outboxes fail on it.`)
  if (revision < codeRevision) {
    return found(
      'SCHEMA_BEHIND',
      'warning',
      `has revision ${revision}, and this version of sendoff has ${codeRevision}. Events are delivered, but what needs the newer schema fails.`,
    )
  }
  if (missing.length > 0) return found('SCHEMA_INCOMPLETE', 'error', `lacks ${names}.`)
  if (revision === codeRevision) return []
  return [
    {
      code: 'SCHEMA_AHEAD',
      severity: 'info',
      message: `${place} has revision ${revision}, and this version of sendoff has ${codeRevision}. It can run on it.`,
      fix: 'Deploy the newer version here as well.',
    },
  ]
}

/** Whether nothing is known to be missing: only then are all indexes expected. */
export function isCurrentSchema(findings: readonly Finding[]): boolean {
  return findings.every(({ severity }) => severity === 'info')
}

/** The finding for something that the database user may not read. */
export function rightsMissing(what: string, reason: string, fix?: Pick<Finding, 'fix' | 'sql'>): Finding {
  return {
    code: 'RIGHTS_MISSING',
    severity: 'info',
    message: `The database user may not read ${what}, so it was not examined: ${reason}.`,
    fix: 'Give the user the right to read it, or let the doctor connect as another user.',
    ...fix,
  }
}

/** Runs an examination. If the database user may not make it, returns that as a finding. */
export async function ifPermitted(
  what: string,
  isNotPermitted: (error: unknown) => boolean,
  examine: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await examine()
  } catch (error) {
    if (isNotPermitted(error)) return [rightsMissing(what, describeError(error))]
    throw error
  }
}

const unusable: Readonly<Record<string, Pick<Finding, 'code' | 'fix'> | undefined>> = {
  OUTBOX_SCHEMA_TOO_NEW: {
    code: 'SCHEMA_TOO_NEW',
    fix: 'Deploy the version that made the schema, or a later one.',
  },
  OUTBOX_INVALID_OPTION: {
    code: 'TIME_PARTITIONS_DIFFER',
    fix: 'Set partitionBy of every process to what the table was made with.',
  },
}
