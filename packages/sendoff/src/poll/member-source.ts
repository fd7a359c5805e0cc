import { noPending, type PendingSource } from './pending-source.ts'

/** Fetches only while this process is registered. After a long absence, the table may be in another mode. */
export function memberSource(source: PendingSource, staysMember: () => Promise<boolean>): PendingSource {
  return {
    fetch: async (limit, hasNews) => ((await staysMember()) ? source.fetch(limit, hasNews) : noPending),
    ...(source.startOver && { startOver: () => source.startOver!() }),
    ...(source.drained && { drained: async (error?: unknown) => source.drained!(error) }),
    ...(source.forgetWaiting && { forgetWaiting: () => source.forgetWaiting!() }),
  }
}
