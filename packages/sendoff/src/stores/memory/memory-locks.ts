import type { Bounds, FencedRow, OutboxLocks, OwnerFence } from '../../store/index.ts'

/** The named locks of a memory store. */
export interface MemoryLocks extends OutboxLocks {
  isOwner(fence: OwnerFence): boolean
  recordBounds(lock: string, bounds: Bounds | null): void
  recordHeld(lock: string, held: readonly FencedRow[]): void
  /** Returns all locks whose names begin with this prefix. */
  withPrefix(prefix: string): readonly MemoryLock[]
  remove(name: string): void
}

/** A lock by its name, its owner, and what the owner holds. */
export interface MemoryLock {
  readonly name: string
  readonly token: string
  readonly until: number
  readonly bounds: Bounds | null
  readonly held: readonly FencedRow[]
}

const nothing = { bounds: null, held: [] }

interface Lock {
  token: string
  until: number
  bounds: Bounds | null
  held: readonly FencedRow[]
}

/** Makes the locks. They count the losses of an owner that vanished. */
export function memoryLocks(
  now: () => number,
  countLosses: (bounds: Bounds | null, held: readonly FencedRow[], destination?: string) => void,
): MemoryLocks {
  const locks = new Map<string, Lock>()

  return {
    async acquire({ lock: name, token, ttlMs, destination }) {
      const lock = locks.get(name)
      if (lock !== undefined && lock.token !== token && lock.until > now()) return false

      const isOwn = lock?.token === token
      if (lock !== undefined && !isOwn) countLosses(lock.bounds, lock.held, destination)
      const { bounds, held } = isOwn ? lock : nothing
      locks.set(name, { token, until: now() + ttlMs, bounds, held })
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

    recordHeld(name, held) {
      const lock = locks.get(name)
      // A copy: the caller may change its rows later.
      if (lock !== undefined) lock.held = held.map(({ seq, deliveries }) => ({ seq, deliveries }))
    },

    withPrefix: (prefix) =>
      [...locks].filter(([name]) => name.startsWith(prefix)).map(([name, lock]) => ({ name, ...lock })),

    remove: (name) => void locks.delete(name),
  }

  function isOwner({ lock: name, token }: OwnerFence): boolean {
    const lock = locks.get(name)
    return lock !== undefined && lock.token === token && lock.until > now()
  }
}
