import { OutboxError } from '../../errors.ts'
import type { RunScript } from './drivers/run-script.ts'
import { migrateScript, versionScript } from './scripts/upkeep-scripts.ts'

const version = 1

/** Brings the stored data to the current version. */
export async function migrate(run: RunScript, prefix: string): Promise<void> {
  assertKnown(prefix, Number(await run(migrateScript, [String(version)])))
}

/** Throws if `migrate` would have something to do. */
export async function checkSchema(run: RunScript, prefix: string): Promise<void> {
  const stored = await run(versionScript, [])
  if (stored === null) throw notReady(prefix)
  assertKnown(prefix, Number(stored))
}

function assertKnown(prefix: string, stored: number): void {
  if (stored <= version) return
  throw new OutboxError(
    'OUTBOX_SCHEMA_TOO_NEW',
    `The data stored under "${prefix}" has version ${stored}, but this version of sendoff knows only ${version}. ` +
      'Deploy the newer version of sendoff here as well.',
  )
}

function notReady(prefix: string): OutboxError {
  return new OutboxError(
    'OUTBOX_SCHEMA_NOT_READY',
    `Nothing of an outbox is stored under "${prefix}" yet. Call await store.migrate(), then start again; or leave the option ` +
      '"migrate: false" out. If it has been there before, the server has lost its data.',
  )
}
