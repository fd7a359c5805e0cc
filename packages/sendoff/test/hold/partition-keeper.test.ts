import { deepEqual, equal } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { partitionCount } from '../../src/store/partition-of.ts'
import { StoreRecovery } from '../../src/store-calls/store-recovery.ts'
import { NamedLock } from '../../src/hold/named-lock.ts'
import { PartitionKeeper, type PartitionKeeperOptions } from '../../src/hold/partition-keeper.ts'
import { type OutboxPartitions, type StoreWith, participantLock } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { Gate } from '../fixtures/gate.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

describe('the keeper of partitions', () => {
  it('begins nothing more of a partition that it may have given up, whatever it was told', async (test) => {
    const store = memoryStore()
    const released = Promise.withResolvers<void>()
    const first = keeperOf(test, store, 'first', {
      async release(...request) {
        await store.partitions.release(...request)
        setImmediate(released.resolve)
        throw new Error('The answer was lost.')
      },
    })
    const second = keeperOf(test, store, 'second')
    await first.look()
    await second.look()
    await first.look()
    await released.promise
    await second.look()

    equal(second.active.length, partitionCount / 2)
    deepEqual(inBoth(first, second), [])
  })

  it('gives a partition up again whose giving up has failed', async (test) => {
    const store = memoryStore()
    let failures = 0
    const failed = Promise.withResolvers<void>()
    const first = keeperOf(test, store, 'first', {
      async release(...request) {
        if (failures++ > 0) return store.partitions.release(...request)
        setImmediate(failed.resolve)
        throw new Error('The request was lost.')
      },
    })
    const second = keeperOf(test, store, 'second')
    await first.look()
    await second.look()
    await first.look()
    await failed.promise
    await first.look()
    await new Promise((resolve) => setImmediate(resolve))
    await second.look()

    equal(first.active.length, partitionCount / 2)
    equal(second.active.length, partitionCount / 2)
    deepEqual(inBoth(first, second), [])
  })

  it('does not believe an old answer that a partition is its own which it has given up since', async (test) => {
    const store = memoryStore()
    const [inHand, answer, released] = [new Gate(), new Gate(), new Gate()]
    let looks = 0
    const first = keeperOf(
      test,
      store,
      'first',
      {
        async shares(owner) {
          const shares = await store.partitions.shares(owner)
          if (++looks === 3) await answer.passed
          return shares
        },
        async release(...request) {
          await store.partitions.release(...request)
          released.open()
        },
      },
      () => inHand.passed,
    )
    const [second, third] = [keeperOf(test, store, 'second'), lockOf(store, 'third')]
    await first.look()
    await second.look()
    await third.acquire()
    await first.look()
    await third.release()
    const look = first.look()
    inHand.open()
    await released.passed
    await second.look()
    answer.open()
    await look

    equal(second.active.length, partitionCount / 2)
    deepEqual(inBoth(first, second), [])
  })

  it('checks the shares again if the store answers another call right after a check has failed', async (test) => {
    const store = memoryStore()
    const clock = {
      ...systemClock,
      schedule: () => {
        queueMicrotask(() => recovery.answered())
        return () => {}
      },
    }
    const recovery = new StoreRecovery(clock)
    let checks = 0
    const keeper = new PartitionKeeper({
      ...optionsOf(store, lockOf(store, 'first')),
      partitions: {
        ...store.partitions,
        async shares(owner) {
          if (++checks === 1) throw new Error('The answer was lost.')
          return store.partitions.shares(owner)
        },
      },
      clock,
      recovery,
    })
    test.after(() => keeper.stop())
    await keeper.look()
    await new Promise((resolve) => setImmediate(resolve))

    equal(checks, 2)
    equal(keeper.active.length, partitionCount)
  })

  it('leaves what was in hand when its lock was lost to the end of the lock, which counts it', async (test) => {
    const store = memoryStore()
    const inHand = new Gate()
    const released: unknown[] = []
    const lock = lockOf(store, 'first')
    const calls = { release: async (...request: unknown[]) => void released.push(request) }
    const first = keeperOf(test, store, 'first', calls, () => inHand.passed, lock)
    const second = keeperOf(test, store, 'second')
    await first.look()
    await second.look()
    await first.look()
    lock.lost()
    inHand.open()
    await new Promise((resolve) => setTimeout(resolve, 5))

    deepEqual(released, [])
    deepEqual(first.active, [])
  })

  it('shares again at once if its lock is lost during a check', async (test) => {
    const store = memoryStore()
    const lock = lockOf(store, 'first')
    const [asked, answer] = [new Gate(), new Gate()]
    const { keeper, pauses } = pausingKeeperOf(test, store, lock, {
      async shares(owner) {
        const shares = await store.partitions.shares(owner)
        if (pauses.length === 0) return shares
        asked.open()
        await answer.passed
        return shares
      },
    })
    await keeper.look()
    const check = keeper.look()
    await asked.passed
    await store.locks.release(lock.fence)
    lock.lost()
    answer.open()
    await check

    equal(pauses.at(-1), 0)
    await keeper.look()
    equal(keeper.active.length, partitionCount)
    equal(pauses.at(-1), 60_000)
  })

  it('pauses if the store does not know the lock that it has just granted', async (test) => {
    const store = memoryStore()
    const { keeper, pauses } = pausingKeeperOf(test, store, lockOf(store, 'first'), {
      shares: async () => undefined,
    })
    await keeper.look()

    equal(pauses.at(-1), 500)
  })
})

/** Looks only when it is told to, is told of lost locks, and records how long it would pause. */
function pausingKeeperOf(
  test: TestContext,
  store: StoreWith<any, 'people'>,
  lock: NamedLock,
  calls: Partial<OutboxPartitions>,
): { readonly keeper: PartitionKeeper; readonly pauses: readonly number[] } {
  const pauses: number[] = []
  const keeper = new PartitionKeeper({
    ...optionsOf(store, lock),
    partitions: { ...store.partitions!, ...calls },
    clock: {
      ...systemClock,
      schedule(ms) {
        pauses.push(ms)
        return () => {}
      },
    },
  })
  lock.onLost(() => keeper.lost())
  test.after(() => keeper.stop())
  return { keeper, pauses }
}

function lockOf(store: StoreWith<any, 'people'>, token: string): NamedLock {
  return new NamedLock({
    locks: store.locks,
    name: participantLock,
    token,
    ttlMs: 60_000,
    renewMarginMs: 30_000,
    clock: systemClock,
    logger: silent,
  })
}

/** Looks only when it is told to. */
function keeperOf(
  test: TestContext,
  store: StoreWith<any, 'people'>,
  token: string,
  calls: Partial<OutboxPartitions> = {},
  letGo: () => Promise<void> = async () => {},
  lock = lockOf(store, token),
): PartitionKeeper {
  const keeper = new PartitionKeeper({
    ...optionsOf(store, lock),
    partitions: { ...store.partitions!, ...calls },
    letGo,
  })
  test.after(() => keeper.stop())
  return keeper
}

function optionsOf(store: StoreWith<any, 'people'>, lock: NamedLock): PartitionKeeperOptions {
  return {
    partitions: store.partitions!,
    lock,
    locks: store.locks,
    leaseMs: 60_000,
    clock: { ...systemClock, schedule: () => () => {} },
    logger: silent,
    mayShare: () => true,
    intervalMs: 60_000,
    letGo: async () => {},
    waker: { wake() {}, announce() {} },
  }
}

function inBoth(first: PartitionKeeper, second: PartitionKeeper): readonly number[] {
  const numbers = new Set(first.active.map(({ partition }) => partition))
  return second.active.map(({ partition }) => partition).filter((partition) => numbers.has(partition))
}
