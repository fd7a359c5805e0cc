import { noPending, type PendingSource } from './pending-source.ts'

/** Fetches only while this process is registered: after a long absence the table may be used in another mode. */
export function memberSource(source: PendingSource, staysMember: () => Promise<boolean>): PendingSource {
  const { drained, forgetWaiting, recordHeld } = source
  return {
    fetch: async (limit, place, hasNews) =>
      (await staysMember()) ? source.fetch(limit, place, hasNews) : noPending,
    ...(drained && { drained: (error) => drained.call(source, error) }),
    ...(forgetWaiting && { forgetWaiting: () => forgetWaiting.call(source) }),
    ...(recordHeld && { recordHeld: () => recordHeld.call(source) }),
  }
}
