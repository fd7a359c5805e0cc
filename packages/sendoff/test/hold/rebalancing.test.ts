import { equal, ok } from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { partitionCount } from '../../src/store/partition-of.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { OutboxPartitions, StoreWith, OwnedPartition } from '../../src/store/index.ts'
import { onEveryStore } from '../fixtures/outbox-fixture.ts'

/** Who has which partition, from the answer that gave it until the request that gives it up. */
class OwnershipRecord {
  readonly owners = new Map<number, string>()
  readonly faults: string[] = []
  moves = 0
  readonly #epochs = new Map<number, number>()
  #waiting: (() => void)[] = []

  gained(token: string, owned: readonly OwnedPartition[]): void {
    for (const { partition, epoch } of owned) {
      const owner = this.owners.get(partition)
      if (owner !== undefined) this.faults.push(`${token} got ${partition}, which ${owner} had`)
      const last = this.#epochs.get(partition) ?? 0
      if (epoch !== last + 1) this.faults.push(`${partition} got epoch ${epoch} after ${last}`)
      this.#epochs.set(partition, epoch)
      this.owners.set(partition, token)
      this.moves++
    }
    this.#changed()
  }

  givenUp(token: string, partitions: Iterable<number>): void {
    for (const partition of [...partitions]) {
      if (this.owners.get(partition) === token) this.owners.delete(partition)
    }
    this.#changed()
  }

  /** Everything is owned, by so many, and by each as much as by the others, give or take one. */
  async untilShared(nodes: number): Promise<void> {
    while (!this.#isShared(nodes)) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  countOf(name: string): number {
    return [...this.owners.values()].filter((token) => token.startsWith(name)).length
  }

  #isShared(nodes: number): boolean {
    const counts = [...Map.groupBy(this.owners.values(), (token) => token).values()].map((all) => all.length)
    return (
      this.owners.size === partitionCount &&
      counts.length === nodes &&
      Math.max(...counts) - Math.min(...counts) <= 1
    )
  }

  #changed(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

onEveryStore(
  'from 4 nodes to 5 and to 3, no more partitions than needed change hands, and each has one owner at most',
  async (test, open) => {
    const record = new OwnershipRecord()
    const seen: string[] = []
    const joins = (name: string) => join(test, open(), record, seen, name)
    const [first, second, third] = [await joins('first'), await joins('second'), await joins('third')]
    await joins('fourth')
    await record.untilShared(4)
    const keys = Array.from({ length: 100 }, (_, n) => `key ${n}`)
    const write = (from: Outbox<any>) =>
      from.transaction(() =>
        from.writeAll(
          keys.map((orderingKey) => ({ type: { name: 'Moved' }, payload: null, fields: { orderingKey } })),
        ),
      )

    await write(first)
    record.moves = 0
    await joins('fifth')
    await write(second)
    await record.untilShared(5)
    const least = Math.floor(partitionCount / 5)
    ok(record.moves <= least + 2, `${record.moves} partitions moved to the fifth node instead of ${least}`)

    const left = record.countOf('second') + record.countOf('third')
    record.moves = 0
    await write(first)
    await Promise.all([second.close(), third.close()])
    await write(first)
    await record.untilShared(3)
    ok(record.moves <= left + 2, `${record.moves} partitions moved instead of the ${left} that were left`)

    equal(record.faults.join('\n'), '')
    while (seen.length < 4 * keys.length) await new Promise((resolve) => setTimeout(resolve, 5))
    equal(seen.length, 4 * keys.length)
  },
  ['multiNode'],
)

async function join(
  test: TestContext,
  store: StoreWith<any, 'people'>,
  record: OwnershipRecord,
  seen: string[],
  ownerId: string,
): Promise<Outbox<any>> {
  const outbox = await Outbox.partitioned<any>({
    store: recorded(store, record),
    listeners: new ListenerRegistry().register('Moved', async ({ eventId }) => {
      await new Promise((resolve) => setTimeout(resolve, 1))
      seen.push(eventId)
    }),
    logger: false,
    ownerId,
    poller: { busyIntervalMs: 5 },
    // Long enough that no process counts as gone.
    leaseMs: 6_000,
  }).start()
  test.after(() => outbox.close())
  return outbox
}

function recorded(store: StoreWith<any, 'people'>, record: OwnershipRecord): StoreWith<any, 'people'> {
  const partitions = store.partitions!
  const recordedPartitions: OutboxPartitions = {
    async acquire(request) {
      const owned = await partitions.acquire(request)
      record.gained(request.owner.token, owned)
      return owned
    },
    release(request) {
      record.givenUp(
        request.owner.token,
        request.partitions.map(({ partition }) => partition),
      )
      return partitions.release(request)
    },
    shares: (owner) => partitions.shares(owner),
    look: () => partitions.look(),
  }
  const { locks } = store
  const recordedLocks: StoreWith<any, 'people'>['locks'] = {
    acquire: (request) => locks.acquire(request),
    renew: (request) => locks.renew(request),
    release(fence) {
      record.givenUp(fence.token, record.owners.keys())
      return locks.release(fence)
    },
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'partitions') return recordedPartitions
      if (name === 'locks') return recordedLocks
      const member = Reflect.get(target, name) as unknown
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}
