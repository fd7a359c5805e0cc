import { setTimeout as delay } from 'node:timers/promises'
import type { FaultStore, SiteHarm } from './fault-store.ts'

/** The lock of those who deliver one at a time, unless they are told another name. */
export const lockName = 'outbox-poller'

/** Takes a lock without asking anybody, as nobody does who goes by the rules. */
export const thief = 'thief'

export const lockHarmNames: readonly string[] = ['deleteLock', 'stealLock']

/** What can be done to the lock behind its holder's back. */
export function lockHarms({ lock }: FaultStore, location: string): Readonly<Record<string, SiteHarm>> {
  if (lock === undefined) return {}
  const harm = (leases: SiteHarm['leases'], work: (forMs: number) => Promise<void>): SiteHarm => ({
    weight: 40,
    targets: 'everybody',
    leases,
    // A server that is down has no lock to be harmed.
    do: (_, forMs) => work(forMs).catch(() => {}),
  })
  return {
    deleteLock: harm([0, 0], () => lock.delete(location)),
    stealLock: harm([0.2, 0.6], async (forMs) => {
      await lock.steal(location, forMs)
      await delay(forMs)
    }),
  }
}

/** The process that holds the lock now, by the name that it goes by. */
export async function lockHolder({ lock }: FaultStore, location: string): Promise<string | undefined> {
  const token = await lock?.token(location).catch(() => undefined)
  return token === undefined ? undefined : /^(.+)-[0-9a-f]{8}\/\d+$/.exec(token)?.[1]
}
