import type { Bounds, OutboxLocks, OwnerFence } from '../../store.ts'

/** The named locks of a memory store. */
export interface MemoryLocks extends OutboxLocks {
  isOwner(fence: OwnerFence): boolean
  recordBounds(lock: string, bounds: Bounds | null): void
}

interface Lock {
  token: string
  until: number
  bounds: Bounds | null
}

export function memoryLocks(now: () => number, countLosses: (bounds: Bounds) => void): MemoryLocks {
  const locks = new Map<string, Lock>()

  return {
    async acquire({ lock: name, token, ttlMs }) {
      const lock = locks.get(name)
      if (lock !== undefined && lock.token !== token && lock.until > now()) return false

      let bounds = lock?.bounds ?? null
      if (bounds !== null && lock?.token !== token) {
        countLosses(bounds)
        bounds = null
      }
      locks.set(name, { token, until: now() + ttlMs, bounds })
      return true
    },

    async renew({ lock: name, token, ttlMs }) {
      if (!isOwner({ lock: name, token })) return false

      locks.get(name)!.until = now() + ttlMs
      return true
    },

    async release({ lock: name, token }) {
      if (locks.get(name)?.token === token) locks.delete(name)
    },

    isOwner,

    recordBounds(name, bounds) {
      const lock = locks.get(name)
      if (lock !== undefined) lock.bounds = bounds
    },
  }

  function isOwner({ lock: name, token }: OwnerFence): boolean {
    const lock = locks.get(name)
    return lock !== undefined && lock.token === token && lock.until > now()
  }
}
