import { OutboxError } from '../errors.ts'
import type { OutboxStore, StorePart } from './outbox-store.ts'

/** The optional parts that a store has. */
export type StoreParts = { readonly [Part in StorePart]?: OutboxStore<never>[Part] | undefined }

/**
 * Returns the store, typed to have these parts. If the store lacks one, throws `OUTBOX_STORE_CANNOT`. The
 * error names the part, and `what` needs it.
 */
export function requireParts<Store extends StoreParts, Part extends StorePart>(
  store: Store,
  parts: readonly Part[],
  what: string,
): Store & { readonly [Name in Part]: NonNullable<Store[Name]> } {
  const missing = parts.filter((part) => store[part] === undefined)
  if (missing.length === 0) return store as never
  const names = missing.map((part) => `"${part}"`).join(' and ')
  throw new OutboxError(
    'OUTBOX_STORE_CANNOT',
    `${what} needs ${names} of the store, but this store leaves that out. Use a store that has it.`,
  )
}
