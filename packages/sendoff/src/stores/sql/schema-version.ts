import { OutboxError } from '../../errors.ts'

/** Whether a schema of this version is current. One that only newer code knows is an error. */
export function isNewest(table: string, version: number, newest: number): boolean {
  if (version <= newest) return version === newest

  throw new OutboxError(
    'OUTBOX_SCHEMA_TOO_NEW',
    `The schema of table "${table}" has version ${version}, but this version of sendoff knows only ${newest}. ` +
      'Deploy the newer version of sendoff here as well.',
  )
}

/** Refuses a table that is in parts where it should not be, or the other way round. `store` is the function that was called. */
export function assertSameKind(
  store: string,
  { table, isPartitioned }: { readonly table: string; readonly isPartitioned: boolean },
  wasPartitioned: boolean,
): void {
  if (isPartitioned === wasPartitioned) return
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The table "${table}" was made ${wasPartitioned ? 'with' : 'without'} the option partitionBy of ${store}, ` +
      'and cannot be changed. Give all stores on it the same option, or another table.',
  )
}
