import { deepEqual, equal } from 'node:assert/strict'
import type { LockRequest } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'

export const lockChecks: readonly PartCheck[] = [
  {
    name: 'locks: a free lock is granted',
    async run({ store }) {
      equal(await store.locks.acquire(requestOf('a')), true)
    },
  },
  {
    name: 'locks: a held lock is refused to every other token',
    async run({ store }) {
      await store.locks.acquire(requestOf('a'))

      equal(await store.locks.acquire(requestOf('b')), false)
      equal(await store.locks.renew(requestOf('a')), true)
    },
  },
  {
    name: 'locks: the holder may acquire its lock again',
    async run({ store }) {
      await store.locks.acquire(requestOf('a'))

      equal(await store.locks.acquire(requestOf('a')), true)
      equal(await store.locks.acquire(requestOf('b')), false)
    },
  },
  {
    name: 'locks: a lock that has run out goes to the next process that asks',
    async run({ store, wait }) {
      await store.locks.acquire(requestOf('a', 50))
      await wait(60)

      equal(await store.locks.acquire(requestOf('b')), true)
      equal(await store.locks.acquire(requestOf('a')), false)
    },
  },
  {
    name: 'locks: a renewed lock is held beyond its first time limit',
    async run({ store, wait }) {
      await store.locks.acquire(requestOf('a', 400))
      equal(await store.locks.renew(requestOf('a')), true)
      await wait(420)

      equal(await store.locks.acquire(requestOf('b')), false)
    },
  },
  {
    name: 'locks: a poll renews the lock if renewMs is given, and only then',
    async run({ store, wait }) {
      const poll = { limit: 10, held: null }
      const [kept, left] = [requestOf('a', 400), { ...requestOf('a', 400), lock: 'purge' }]
      await store.locks.acquire(kept)
      await store.locks.acquire(left)
      deepEqual(await store.pollPending({ ...poll, owner: kept, renewMs: 30_000 }), [])
      deepEqual(await store.pollPending({ ...poll, owner: left }), [])
      await wait(420)

      equal(await store.locks.acquire(requestOf('b')), false)
      equal(await store.locks.acquire({ ...requestOf('b'), lock: 'purge' }), true)
    },
  },
  {
    name: 'locks: a poll does not renew a lock that has run out',
    async run({ store, wait }) {
      await store.locks.acquire(requestOf('a', 50))
      await wait(60)

      const owner = requestOf('a')
      equal(await store.pollPending({ owner, limit: 10, held: null, renewMs: 30_000 }), undefined)
      equal(await store.locks.acquire(requestOf('b')), true)
    },
  },
  {
    name: 'locks: a lock that has run out cannot be renewed, even if no process took it',
    async run({ store, wait }) {
      await store.locks.acquire(requestOf('a', 50))
      await wait(60)

      equal(await store.locks.renew(requestOf('a')), false)
      equal(await store.locks.acquire(requestOf('b')), true)
    },
  },
  {
    name: 'locks: a process cannot renew the lock of another, or one never taken',
    async run({ store }) {
      equal(await store.locks.renew(requestOf('a')), false)
      await store.locks.acquire(requestOf('a'))

      equal(await store.locks.renew(requestOf('b')), false)
      equal(await store.locks.acquire(requestOf('b')), false)
    },
  },
  {
    name: 'locks: a released lock is free at once',
    async run({ store }) {
      await store.locks.acquire(requestOf('a'))
      await store.locks.release(requestOf('a'))

      equal(await store.locks.renew(requestOf('a')), false)
      equal(await store.locks.acquire(requestOf('b')), true)
    },
  },
  {
    name: 'locks: a release with another token changes nothing',
    async run({ store }) {
      await store.locks.release(requestOf('b'))
      await store.locks.acquire(requestOf('a'))
      await store.locks.release(requestOf('b'))

      equal(await store.locks.acquire(requestOf('b')), false)
      equal(await store.locks.renew(requestOf('a')), true)
    },
  },
  {
    name: 'locks: a holder that was replaced cannot release the lock of its successor',
    async run({ store, wait }) {
      await store.locks.acquire(requestOf('a', 50))
      await wait(60)
      await store.locks.acquire(requestOf('b'))
      await store.locks.release(requestOf('a'))

      equal(await store.locks.acquire(requestOf('c')), false)
    },
  },
  {
    name: 'locks: locks of different names are independent',
    async run({ store }) {
      await store.locks.acquire(requestOf('a'))
      equal(await store.locks.acquire({ ...requestOf('b'), lock: 'purge' }), true)
      await store.locks.release({ lock: 'purge', token: 'b' })

      equal(await store.locks.acquire(requestOf('b')), false)
    },
  },
  {
    name: 'locks: of many processes that ask at the same time one gets the lock',
    async run({ store }) {
      const tokens = Array.from({ length: 8 }, (_, index) => `token-${index}`)
      const grants = await Promise.all(tokens.map((token) => store.locks.acquire(requestOf(token))))

      equal(grants.filter(Boolean).length, 1)
    },
  },
  {
    name: 'locks: a lock held in one process is refused in another',
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      const grants = await Promise.all([
        store.locks.acquire(requestOf('a')),
        other.locks.acquire(requestOf('b')),
      ])
      equal(grants.filter(Boolean).length, 1)

      const [winner, loser] = grants[0] ? ['a', 'b'] : ['b', 'a']
      equal(await other.locks.renew(requestOf(winner)), true)
      equal(await store.locks.renew(requestOf(loser)), false)
    },
  },
]

function requestOf(token: string, ttlMs = 30_000): LockRequest {
  return { lock: 'relay', token, ttlMs }
}
