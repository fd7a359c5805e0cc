import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { EventStatus } from '../../src/store/event-status.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { EventWriter } from '../../src/write/event-writer.ts'
import type { PartitionedOptions } from '../../src/outbox/outbox-options.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import type { DispatchContext } from '../../src/route/event-listener.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { type StoreWith, participantLock } from '../../src/store/index.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStoreOnce, until } from '../fixtures/outbox-fixture.ts'

interface Step {
  readonly key: string
  readonly n: number
}

type Listen = (step: Step, context: DispatchContext) => unknown

async function start(
  test: TestContext,
  store: StoreWith<any, 'people'>,
  listen: Listen,
  options: Partial<PartitionedOptions<any, any>> = {},
): Promise<Outbox<any>> {
  const listeners = new ListenerRegistry().register('Stepped', async (event, context) => {
    return (await listen(event.payload as Step, context)) as undefined
  })
  const outbox = await Outbox.partitioned<any>({
    store,
    listeners,
    logger: false,
    retryPolicy: fixedDelay(1),
    // The interval is never over here: a poller that has to poll must be woken.
    poller: { intervalMs: 600_000, busyIntervalMs: 600_000 },
    leaseMs: 2_000,
    drainTimeoutMs: 1_000,
    shutdownTimeoutMs: 1_000,
    ...options,
  }).start()
  test.after(() => outbox.close())
  return outbox
}

function write(outbox: EventWriter<any>, ...steps: Step[]): Promise<string[]> {
  return outbox.transaction(async () => {
    const ids: string[] = []
    for (const step of steps) ids.push(await outbox.write('Stepped', step, { orderingKey: step.key }))
    return ids
  })
}

const stepsOf = (key: string, count: number): Step[] => Array.from({ length: count }, (_, n) => ({ key, n }))

onEveryStoreOnce('events of a key run in write order through failures, on two nodes', async (test, open) => {
  const seen = new Map<string, number[]>()
  const running = new Set<string>()
  let failures = 0
  const listen: Listen = async ({ key, n }, { attempt }) => {
    ok(!running.has(key), `two events of ${key} at once`)
    running.add(key)
    await new Promise((resolve) => setImmediate(resolve))
    running.delete(key)
    if (attempt === 1 && n % 3 === 1) {
      failures++
      throw new Error('not now')
    }
    seen.set(key, [...(seen.get(key) ?? []), n])
  }
  const nodes = [await start(test, open(), listen), await start(test, open(), listen)]
  const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`)
  for (let n = 0; n < 12; n++) await write(nodes[n % 2]!, ...keys.map((key) => ({ key, n })))
  await until(() => [...seen.values()].flat().length === 240)

  for (const key of keys) deepEqual(seen.get(key), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  equal(failures, 80)
})

onEveryStoreOnce('an event begins only after the one before it is settled', async (test, open) => {
  const store = open()
  const states: unknown[] = []
  let ids: string[] = []
  const listen: Listen = async ({ n }) => {
    if (n > 0) states.push((await store.people.query({ eventId: ids[n - 1]!, limit: 1 }))[0]?.status)
  }
  const outbox = await start(test, store, listen, { poller: { enabled: false } })
  ids = await write(outbox, ...stepsOf('a', 20))
  await outbox.drain()

  deepEqual(new Set(states), new Set([EventStatus.DONE]))
  equal(states.length, 19)
})

onEveryStoreOnce(
  'an event written while another of its key runs follows it at once, without a poll interval',
  async (test, open) => {
    const gate = new Gate()
    const seen: string[] = []
    const listen: Listen = async ({ key, n }) => {
      seen.push(`${key}${n}`)
      if (key === 'a' && n === 0) await gate.passed
    }
    const outbox = await start(test, open(), listen)
    await write(outbox, { key: 'a', n: 0 })
    await until(() => seen.includes('a0'))
    await write(outbox, { key: 'a', n: 1 })
    await write(outbox, { key: 'b', n: 0 })
    await until(() => seen.includes('b0'))
    gate.open()
    await until(() => seen.includes('a1'))
  },
)

onEveryStoreOnce('a failed event holds up its key until it is DEAD, and no other key', async (test, open) => {
  const seen: string[] = []
  const outbox = await start(
    test,
    open(),
    ({ key, n }) => {
      seen.push(`${key}${n}`)
      if (key === 'bad' && n === 0) throw new Error('no')
    },
    { maxAttempts: 3 },
  )
  await write(outbox, ...stepsOf('bad', 2), ...stepsOf('good', 2))
  await until(() => seen.includes('bad1') && seen.includes('good1'))

  deepEqual(
    seen.filter((each) => each.startsWith('bad')),
    ['bad0', 'bad0', 'bad0', 'bad1'],
  )
  equal(await outbox.deadEvents.count(), 1)
})

onEveryStoreOnce('a key continues past a failed event with onKeyFailure: continue', async (test, open) => {
  const seen: number[] = []
  let fails = true
  const outbox = await start(
    test,
    open(),
    ({ n }) => {
      if (n === 0 && fails) throw new Error('no')
      seen.push(n)
      if (n === 3) fails = false
    },
    { onKeyFailure: 'continue', retryPolicy: fixedDelay(20), maxAttempts: 1_000 },
  )
  await write(outbox, ...stepsOf('a', 4))
  await until(() => seen.length === 4)
  deepEqual(seen, [1, 2, 3, 0])
})

onEveryStoreOnce(
  'an event after its last attempt blocks its key until an operator retries it',
  async (test, open) => {
    const seen: string[] = []
    let fails = true
    const outbox = await start(
      test,
      open(),
      ({ key, n }) => {
        if (key === 'a' && n === 0 && fails) throw new Error('out of stock')
        seen.push(`${key}${n}`)
      },
      { onKeyFailure: 'block', maxAttempts: 2 },
    )
    const [first] = await write(outbox, ...stepsOf('a', 3), ...stepsOf('b', 1))
    await until(async () => (await outbox.blockedKeys.query())[0]?.head?.blockedAt != null)
    const [blocked] = await outbox.blockedKeys.query()

    equal(blocked!.orderingKey, 'a')
    equal(blocked!.head!.eventId, first)
    equal(blocked!.waiting, 2)
    match(blocked!.head!.lastError!, /out of stock/)
    deepEqual(seen, ['b0'])
    equal(await outbox.deadEvents.count(), 0)

    fails = false
    equal(await outbox.blockedKeys.retry('a'), true)
    await until(() => seen.length === 4)
    deepEqual(seen, ['b0', 'a0', 'a1', 'a2'])
    await until(async () => (await outbox.blockedKeys.query()).length === 0)
  },
)

onEveryStoreOnce('a retry by an operator during a poll is not lost', async (test, open) => {
  const seen: number[] = []
  let fails = true
  const isRead = new Gate()
  const mayReturn = new Gate()
  let holdsAnswer = false
  const store = open()
  const { lanes } = store
  const read: NonNullable<typeof lanes>['read'] = async (request) => {
    const answer = await lanes!.read(request)
    if (holdsAnswer) {
      isRead.open()
      await mayReturn.passed
    }
    return answer
  }
  const held = new Proxy(store, {
    get: (target, name) =>
      name === 'lanes' ? Object.assign(Object.create(lanes!), { read }) : Reflect.get(target, name),
  })
  const outbox = await start(
    test,
    held,
    ({ n }) => {
      if (fails) throw new Error('out of stock')
      seen.push(n)
    },
    { onKeyFailure: 'block', maxAttempts: 1 },
  )
  await write(outbox, ...stepsOf('a', 2))
  await until(async () => (await outbox.blockedKeys.query())[0]?.head?.blockedAt != null)
  await outbox.drain()

  fails = false
  holdsAnswer = true
  // This makes the worker poll. It reads that the key is blocked.
  await outbox.blockedKeys.unpark('another')
  await isRead.passed
  equal(await outbox.blockedKeys.retry('a'), true)
  mayReturn.open()
  await until(() => seen.length === 2)
  deepEqual(seen, [0, 1])
})

onEveryStoreOnce('an operator can skip a blocked event, which is then DEAD', async (test, open) => {
  const seen: number[] = []
  const outbox = await start(
    test,
    open(),
    ({ n }) => {
      if (n === 0) throw new Error('never')
      seen.push(n)
    },
    { onKeyFailure: 'block', maxAttempts: 1 },
  )
  await write(outbox, ...stepsOf('a', 3))
  await until(async () => (await outbox.blockedKeys.query())[0]?.head?.blockedAt != null)
  equal(await outbox.blockedKeys.skip('a', 'Known to be wrong.'), true)
  await until(() => seen.length === 2)

  deepEqual(seen, [1, 2])
  equal((await outbox.deadEvents.query())[0]?.lastError, 'Known to be wrong.')
})

onEveryStoreOnce('a parked key waits until it is unparked', async (test, open) => {
  const seen: string[] = []
  const outbox = await start(test, open(), ({ key, n }) => void seen.push(`${key}${n}`))
  await outbox.blockedKeys.park('a')
  await write(outbox, ...stepsOf('a', 2), ...stepsOf('b', 1))
  await until(() => seen.length > 0)
  await outbox.drain()
  deepEqual(seen, ['b0'])
  const [parked] = await outbox.blockedKeys.query()
  deepEqual([parked!.orderingKey, parked!.isParked, parked!.waiting], ['a', true, 1])

  await outbox.blockedKeys.unpark('a')
  await until(() => seen.length === 3)
  deepEqual(seen, ['b0', 'a0', 'a1'])
})

onEveryStoreOnce('an event of a paused type holds up the events behind it in its key', async (test, open) => {
  const seen: unknown[] = []
  const listeners = new ListenerRegistry()
    .register('Stepped', (event) => void seen.push(event.payload))
    .register('Paused', (event) => void seen.push(event.payload))
  const outbox = await start(test, open(), () => {}, { listeners })
  await outbox.pause({ eventType: 'Paused' })
  await outbox.transaction(async () => {
    for (const [type, n] of [
      ['Stepped', 0],
      ['Paused', 1],
      ['Stepped', 2],
    ] as const) {
      await outbox.write(type, n, { orderingKey: 'a' })
    }
  })
  await outbox.drain()
  deepEqual(seen, [0])
  await outbox.resume({ eventType: 'Paused' })
  await until(() => seen.length === 3)
  deepEqual(seen, [0, 1, 2])
})

onEveryStoreOnce('a deferred event holds up its key without counting an attempt', async (test, open) => {
  const seen: string[] = []
  const outbox = await start(test, open(), ({ n }, { attempt }) => {
    seen.push(`${n} ${attempt}`)
    return n === 0 && seen.length < 3 ? DispatchResult.retryAfter(1) : undefined
  })
  await write(outbox, ...stepsOf('a', 2))
  await until(() => seen.length === 4)
  deepEqual(seen, ['0 1', '0 1', '0 1', '1 1'])
})

onEveryStoreOnce(
  'a key with many events does not starve others, and does not fill memory',
  async (test, open) => {
    const seen: string[] = []
    const store = open()
    const gate = new Gate()
    const outbox = await start(
      test,
      store,
      async ({ key, n }) => {
        if (key === 'long' && n === 0) await gate.passed
        seen.push(key)
      },
      { coldQueueCapacity: 40 },
    )
    const keys = Array.from({ length: 60 }, (_, index) => `k${index}`)
    await outbox.transaction(() =>
      outbox.writeAll([
        ...stepsOf('long', 500).map((step) => ({
          type: 'Stepped',
          payload: step,
          fields: { orderingKey: 'long' },
        })),
        ...keys.map((key) => ({ type: 'Stepped', payload: { key, n: 0 }, fields: { orderingKey: key } })),
      ] as never),
    )
    await until(() => seen.length === 60)
    ok(!seen.includes('long'))
    gate.open()
    await until(() => seen.length === 560)
  },
)

onEveryStoreOnce('events without a key run at the same time', async (test, open) => {
  const gate = new Gate()
  let running = 0
  const outbox = await start(test, open(), async () => {
    if (++running === 4) gate.open()
    await gate.passed
  })
  await outbox.transaction(async () => {
    for (let n = 0; n < 4; n++) await outbox.write('Stepped', { n })
  })
  await gate.passed
  equal(running, 4)
})

onEveryStoreOnce(
  'a batch has the events of a key in order, and a failure stops the events behind it',
  async (test, open) => {
    const batches: string[][] = []
    const done: string[] = []
    let fails = true
    const listeners = new ListenerRegistry().register('Stepped', {
      async onEvents(events) {
        const names = events.map((event) => `${(event.payload as Step).key}${(event.payload as Step).n}`)
        batches.push(names)
        return names.map((name) => {
          if (name === 'a1' && fails) {
            fails = false
            return new Error('no')
          }
          done.push(name)
          return undefined
        })
      },
    })
    const outbox = await start(test, open(), () => {}, { listeners, poller: { enabled: false } })
    await write(outbox, ...stepsOf('a', 4), ...stepsOf('b', 2))
    await until(async () => {
      await outbox.poll()
      return done.filter((name) => name === 'a3').length === 2
    })
    await outbox.drain()

    deepEqual(batches[0]!.toSorted(), ['a0', 'a1', 'a2', 'a3', 'b0', 'b1'])
    // The events behind the failed one in its batch count as not delivered.
    deepEqual(
      batches.flat().filter((name) => name.startsWith('a')),
      ['a0', 'a1', 'a2', 'a3', 'a1', 'a2', 'a3'],
    )
    equal(batches.flat().filter((name) => name.startsWith('b')).length, 2)
  },
)

onEveryStoreOnce('a node that joins gets its share, and no key ever has two owners', async (test, open) => {
  const holders = new Map<string, string>()
  const epochs = new Map<string, number[]>()
  const gate = new Gate()
  let started = 0
  const listenAs =
    (node: string): Listen =>
    async ({ key, n }, { epoch }) => {
      equal(holders.get(key), undefined, `${key} is with ${holders.get(key)}, and with ${node}`)
      holders.set(key, node)
      epochs.set(key, [...(epochs.get(key) ?? []), epoch!])
      if (n === 0 && ++started === 4) firstRunning.open()
      if (n === 0) await gate.passed
      holders.delete(key)
    }
  const firstRunning = new Gate()
  const first = await start(test, open(), listenAs('first'))
  const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`)
  await write(first, ...keys.flatMap((key) => stepsOf(key, 3)))
  await firstRunning.passed

  const seen = { second: 0 }
  await start(test, open(), async (step, context) => {
    await listenAs('second')(step, context)
    seen.second++
  })
  await until(() => [...holders.values()].includes('second'))
  gate.open()
  await until(() => [...epochs.values()].flat().length === 120)

  ok(seen.second > 0, 'the second node had nothing to do')
  for (const [key, ofKey] of epochs) {
    deepEqual(
      ofKey,
      ofKey.toSorted((a, b) => a - b),
      `${key}: the epoch fell`,
    )
  }
})

onEveryStoreOnce('a node that is closed hands its keys over at once', async (test, open) => {
  const seen: string[] = []
  const first = await start(test, open(), () => void seen.push('first'), { leaseMs: 600_000 })
  const store = open()
  const second = await start(test, store, () => void seen.push('second'), { leaseMs: 3_000 })
  await first.close()
  const keys = Array.from({ length: 20 }, (_, index) => ({ key: `key-${index}`, n: 0 }))
  await write(second, ...keys)
  await until(() => seen.length === 20)
  deepEqual(new Set(seen), new Set(['second']))
})

onEveryStoreOnce(
  'rows of a vanished process are delivered by another, and a loss is counted for each',
  async (test, open) => {
    const store = open()
    await store.migrate()
    const gone = { lock: participantLock('gone'), token: 'gone' }
    await store.locks.acquire({ ...gone, ttlMs: 300 })
    await store.partitions!.acquire({
      owner: gone,
      partitions: Array.from({ length: 256 }, (_, index) => index),
    })
    const seen: number[] = []
    const outbox = await start(test, store, ({ n }) => void seen.push(n))
    const [first] = await write(outbox, ...stepsOf('a', 2))
    const answer = await store.people.query({ eventId: first!, limit: 1 })
    await store.lanes!.hold({ owner: gone, rows: answer })
    await until(() => seen.length === 2)
    deepEqual(seen, [0, 1])
  },
)

onEveryStoreOnce(
  'a node that closes while a listener runs hands all other rows over, and the running key stays in order',
  async (test, open) => {
    const gate = new Gate()
    const seen: string[] = []
    const first = await start(
      test,
      open(),
      async ({ key, n }) => {
        seen.push(`first ${key}${n}`)
        await gate.passed
        seen.push('first is done')
      },
      { workerCount: 1, drainTimeoutMs: 1, shutdownTimeoutMs: 60_000, leaseMs: 60_000 },
    )
    await write(first, ...stepsOf('a', 3))
    await until(() => seen.length === 1)
    await write(first, ...stepsOf('b', 2))
    const next = await start(test, open(), ({ key, n }) => void seen.push(`${key}${n}`), { leaseMs: 60_000 })
    const closing = first.close()
    await until(async () => {
      await next.poll()
      return seen.includes('b1')
    })
    deepEqual(seen, ['first a0', 'b0', 'b1'])
    gate.open()
    await closing
    await until(() => seen.includes('a2'))
    deepEqual(seen.slice(3), ['first is done', 'a1', 'a2'])
  },
)

onEveryStoreOnce(
  'in order, no worker begins the next event while a closing owner still runs one',
  async (test, open) => {
    const gate = new Gate()
    const seen: string[] = []
    const ordered = async (listen: (n: unknown) => unknown, drainTimeoutMs = 1_000) => {
      const listeners = new ListenerRegistry().register(
        'Stepped',
        ({ payload }) => listen(payload) as undefined,
      )
      const outbox = await Outbox.ordered<any>({
        store: open(),
        listeners,
        logger: false,
        poller: { intervalMs: 20 },
        drainTimeoutMs,
      }).start()
      test.after(() => outbox.close())
      return outbox
    }
    const first = await ordered(async (n) => {
      seen.push(`first ${String(n)}`)
      await gate.passed
      seen.push('first is done')
    }, 1)
    await first.transaction(() =>
      first.writeAll([0, 1, 2].map((n) => EventEnvelope.ofJson('Stepped', `${n}`))),
    )
    await until(() => seen.length === 1)
    const next = await ordered((n) => void seen.push(String(n)))
    const closing = first.close()
    for (let turn = 0; turn < 10; turn++) await next.poll()
    deepEqual(seen, ['first 0'])
    gate.open()
    await closing
    // The closing worker may deliver more of its queue before it hands the rest over.
    await until(() => begun().length === 3)
    deepEqual(begun(), ['0', '1', '2'])

    function begun(): string[] {
      return seen.flatMap((line) => /\d/.exec(line)?.[0] ?? [])
    }
  },
)

onEveryStoreOnce(
  'a loss is counted for a row that a node could not settle before it closed',
  async (test, open) => {
    const tokens: number[] = []
    const listen: Listen = (_, { fencingToken }) => void tokens.push(fencingToken)
    const fails = () => Promise.reject(new Error('No room on the disk.'))
    const first = await start(test, faultyStore(open(), { settle: fails }), listen, {
      leaseMs: 300,
      drainTimeoutMs: 50,
    })
    await write(first, { key: 'a', n: 0 })
    await until(() => tokens.length === 1)
    await first.close()
    const store = open()
    await start(test, store, listen, { poller: { intervalMs: 20 } })
    await until(() => tokens.length === 2)
    ok(tokens[1]! > tokens[0]!)
  },
)

onEveryStoreOnce('a suspect runs alone, after the events before it in its key', async (test, open) => {
  const store = open()
  await store.migrate()
  const writer = Outbox.writerOnly<any>({ store: open(), logger: false })
  await writer.start()
  test.after(() => writer.close())
  const ids = await write(writer, ...stepsOf('a', 3), ...stepsOf('b', 2))
  const [suspect] = await store.people.query({ eventId: ids[1]!, limit: 1 })
  for (let loss = 0; loss < 3; loss++) {
    const owner = { lock: participantLock(`gone-${loss}`), token: `gone-${loss}` }
    await store.locks.acquire({ ...owner, ttlMs: 50 })
    await store.partitions!.acquire({ owner, partitions: Array.from({ length: 256 }, (_, index) => index) })
    const [row] = await store.people.query({ eventId: suspect!.eventId, limit: 1 })
    await store.lanes!.hold({ owner, rows: [row!] })
    await new Promise((resolve) => setTimeout(resolve, 60))
    const asker = { lock: participantLock('asker'), token: 'asker' }
    await store.locks.acquire({ ...asker, ttlMs: 10_000 })
    await store.partitions!.shares(asker)
    await store.locks.release(asker)
  }
  const lost = (await store.people.query({ eventId: suspect!.eventId, limit: 1 }))[0]!.losses
  const seen: string[] = []
  const running = new Set<string>()
  await start(test, store, async ({ key, n }) => {
    const name = `${key}${n}`
    running.add(name)
    if (name === 'a1' && lost === 3) equal(running.size, 1)
    await new Promise((resolve) => setTimeout(resolve, 5))
    running.delete(name)
    seen.push(name)
  })
  await until(() => seen.length === 5)
  deepEqual(
    seen.filter((name) => name.startsWith('a')),
    ['a0', 'a1', 'a2'],
  )
})

onEveryStoreOnce('a listener that exceeds its time limit keeps its key', async (test, open) => {
  const gate = new Gate()
  const seen: string[] = []
  const outbox = await start(
    test,
    open(),
    async ({ key, n }, { signal }) => {
      seen.push(`${key}${n}`)
      if (key === 'a' && n === 0 && seen.filter((name) => name === 'a0').length === 1) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        await write(outbox, { key: 'b', n: 0 })
        await until(() => seen.includes('b0'))
        await gate.passed
      }
    },
    { listenerTimeoutMs: 20 },
  )
  await write(outbox, ...stepsOf('a', 2))
  await until(() => seen.includes('b0'))
  ok(!seen.includes('a1'))
  gate.open()
  await until(() => seen.includes('a1'))
})

onEveryStoreOnce('modes that keep order refuse options of the hot path', async (_, open) => {
  const required = { store: open(), listeners: new ListenerRegistry() }
  throws(() => Outbox.partitioned({ ...required, hotShare: 2 } as never), /hotShare/)
  throws(() => Outbox.partitioned({ ...required, onKeyFailure: 'stop' } as never), /onKeyFailure/)
  throws(() => Outbox.partitioned({ ...required, poller: { skipRecentMs: 5 } } as never), /skipRecentMs/)
  throws(() => Outbox.ordered({ ...required, onFailure: 'wait' } as never), /onFailure/)
})

onEveryStoreOnce(
  'an event that falls due does not begin beside one of its key that runs in a closing worker',
  async (test, open) => {
    const gate = new Gate()
    const seen: string[] = []
    const first = await start(
      test,
      open(),
      async ({ key, n }) => {
        seen.push(`first ${key}${n}`)
        await gate.passed
        seen.push('first is done')
      },
      { workerCount: 1, drainTimeoutMs: 1, shutdownTimeoutMs: 60_000, leaseMs: 60_000 },
    )
    await first.transaction(async () => {
      await first.write('Stepped', { key: 'a', n: 0 }, { orderingKey: 'a', deliverAfterMs: 100 })
      await first.write('Stepped', { key: 'a', n: 1 }, { orderingKey: 'a' })
      await first.write('Stepped', { key: 'b', n: 0 }, { orderingKey: 'b', deliverAfterMs: 120 })
    })
    await until(() => seen.length === 1)
    const next = await start(test, open(), ({ key, n }) => void seen.push(`${key}${n}`), { leaseMs: 60_000 })
    const closing = first.close()
    // The event of the other key falls due later, so the one of this key would have begun by then.
    await until(async () => {
      await next.poll()
      return seen.includes('b0')
    })
    deepEqual(seen, ['first a1', 'b0'])
    gate.open()
    await closing
    await until(async () => {
      await next.poll()
      return seen.includes('a0')
    })
    deepEqual(seen, ['first a1', 'b0', 'first is done', 'a0'])
  },
)
