import { setTimeout as delay } from 'node:timers/promises'
import type { FaultStore, SiteHarm } from './fault-store.ts'

/** The default name of the table's lock. */
export const lockName = 'outbox-poller'

/** The owner of a stolen lock. It takes the lock past all rules, as no worker does. */
export const thief = 'thief'

export const lockHarmNames: readonly string[] = ['deleteLock', 'stealLock']

/** Returns the harms that can be done to the lock past its holder. */
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

/** Returns the name of the process that holds the lock now. */
export async function lockHolder({ lock }: FaultStore, location: string): Promise<string | undefined> {
  const token = await lock?.token(location).catch(() => undefined)
  return token === undefined ? undefined : /^(.+)-[0-9a-f]{8}\/\d+$/.exec(token)?.[1]
}
