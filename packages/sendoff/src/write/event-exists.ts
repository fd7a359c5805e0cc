import type { Clock } from '../clock.ts'
import type { OutboxStore } from '../store/index.ts'

/**
 * The pauses before each further question to the store, in milliseconds: while a commit is in doubt, and
 * while the store does not answer.
 */
export const askAgainAfterMs = [100, 500, 2_000, 5_000, 10_000] as const

/**
 * Resolves to whether the store has an event. If `inDoubt`, its commit may still be under way, so it asks
 * several times. Resolves to undefined if the store did not answer, or has no `people`. Never rejects.
 */
export async function eventExists(
  { store, clock }: { readonly store: Pick<OutboxStore<never>, 'people'>; readonly clock: Clock },
  eventId: string,
  inDoubt: boolean,
): Promise<boolean | undefined> {
  const { people } = store
  if (people === undefined) return undefined
  let exists: boolean | undefined
  for (const pauseMs of [0, ...askAgainAfterMs]) {
    if (pauseMs > 0) await new Promise<void>((resolve) => clock.schedule(pauseMs, resolve))
    try {
      exists = (await people.query({ eventId, limit: 1 })).length > 0
    } catch {
      continue
    }
    if (exists || !inDoubt) return exists
  }
  return exists
}
