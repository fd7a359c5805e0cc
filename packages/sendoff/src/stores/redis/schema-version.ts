import { OutboxError } from '../../errors.ts'
import { sendoffVersion } from '../../version.ts'
import {
  codeRevision,
  firstReleaseVersion,
  knownSchema,
  oldestCode,
  type StoredSchema,
} from '../schema-revision.ts'
import type { RunScript } from './drivers/run-script.ts'
import { migrateScript, versionScript } from './scripts/upkeep-scripts.ts'

type Stored = readonly (string | null)[]

/** Brings the stored data to the current revision. */
export async function migrate(run: RunScript, prefix: string): Promise<void> {
  const values = [firstReleaseVersion, codeRevision, oldestCode].map(String)
  known(prefix, (await run(migrateScript, [...values, sendoffVersion])) as Stored)
}

/** Throws if there are no data, or if this code is too old for them. */
export async function checkSchema(run: RunScript, prefix: string): Promise<void> {
  const stored = (await run(versionScript, [])) as Stored
  if (stored[0] === null) throw notReady(prefix)
  known(prefix, stored)
}

/** Reads the state of the stored data. Throws if this code is too old for them. */
export async function storedSchema(run: RunScript, prefix: string): Promise<StoredSchema> {
  return { ...known(prefix, (await run(versionScript, [])) as Stored), missing: [] }
}

/** Names the stored data in errors. */
export function placeOf(prefix: string): string {
  return `The data stored under "${prefix}"`
}

function known(prefix: string, [version, revision, oldest, madeBy]: Stored): Omit<StoredSchema, 'missing'> {
  return knownSchema(placeOf(prefix), {
    version: version ?? undefined,
    revision: revision ?? undefined,
    oldestCode: oldest ?? undefined,
    madeBy: madeBy ?? undefined,
  })
}

function notReady(prefix: string): OutboxError {
  return new OutboxError(
    'OUTBOX_SCHEMA_NOT_READY',
    `Nothing of an outbox is stored under "${prefix}" yet. Call await store.migrate(), then start again; or leave the option ` +
      '"migrate: false" out. If it has been there before, the server has lost its data.',
  )
}
