import { deepEqual, doesNotMatch, equal, match, throws } from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import type { ContextCarrier } from '../../src/observe/context-carrier.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const storage = new AsyncLocalStorage<string>()
const tenant: ContextCarrier = {
  name: 'x-tenant',
  capture: () => storage.getStore(),
  restore: (value, run) => storage.run(value, run),
}

onEveryStore('a listener runs in the context of the write', async (test, open, mode) => {
  const seen: string[] = []
  const listener = new RecordingListener(async ({ payload }) => {
    await Promise.resolve()
    seen.push(`${String(payload)}:${storage.getStore()}`)
  })
  const { outbox, store, metrics } = await startOutbox(test, open(), { mode, listener, context: [tenant] })
  const [first] = await storage.run('acme', () => writeTested(outbox, 1))
  await storage.run('globex', () => writeTested(outbox, 2))
  await writeTested(outbox, 3)
  await metrics.until(({ dispatchSuccess }) => dispatchSuccess === 3)
  deepEqual(seen.toSorted(), ['1:acme', '2:globex', '3:undefined'])
  deepEqual(JSON.parse((await rowOf(store, first!))!.headers!), { 'x-tenant': 'acme' })
})

onEveryStore('each event of a batch has its own context, its fallback too', async (test, open, mode) => {
  const seen: string[] = []
  const listeners = new ListenerRegistry().register(
    'Tested',
    {
      onEvents: (events, { deliveries }) =>
        events.map((event, index) =>
          deliveries[index]!.run(() => {
            seen.push(`${String(event.payload)}:${storage.getStore()}`)
            return event.payload === 2 ? new Error('no') : undefined
          }),
        ),
    },
    { fallback: (event) => void seen.push(`fallback ${String(event.payload)}:${storage.getStore()}`) },
  )
  const options = { mode, listeners, context: [tenant], maxAttempts: 1 }
  const { outbox, metrics } = await startOutbox(test, open(), options)
  await outbox.transaction(async () => {
    await storage.run('acme', () => outbox.write('Tested', 1))
    await storage.run('globex', () => outbox.write('Tested', 2))
  })
  await metrics.until(({ dispatchSuccess }) => dispatchSuccess === 2)
  deepEqual(seen, ['1:acme', '2:globex', 'fallback 2:globex'])
})

describe('a batch', () => {
  it('runs in the context that all its events share', async (test) => {
    const seen: unknown[] = []
    const outbox = await Outbox.multiNode({ store: memoryStore(), logger: false, context: [tenant] }).start()
    test.after(() => outbox.close())
    outbox.on('Tested', { onEvents: (events) => void seen.push(events.length, storage.getStore()) })
    await outbox.transaction(() =>
      storage.run('acme', () =>
        outbox.writeAll([1, 2].map((payload) => ({ type: { name: 'Tested' }, payload }))),
      ),
    )
    await outbox.drain()
    deepEqual(seen, [2, 'acme'])
  })
})

describe('a carrier', () => {
  it('that fails is reported and left out', async (test) => {
    const log: string[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (line: string) => void log.push(line) }
    const fail = (what: string) => () => {
      throw new Error(what)
    }
    let calls = 0
    const bad = [
      { ...tenant, name: 'a', capture: fail('no capture') },
      { ...tenant, name: 'b', capture: () => 'b', restore: fail('no restore') },
      { ...tenant, name: 'c', capture: () => 'c', restore: () => undefined as never },
      tenant,
    ]
    const outbox = await Outbox.multiNode({ store: memoryStore(), logger, context: bad }).start()
    test.after(() => outbox.close())
    outbox.on('Tested', ({ headers }) => {
      calls++
      deepEqual([headers, storage.getStore()], [{ b: 'b', c: 'c', 'x-tenant': 'acme' }, 'acme'])
    })
    await outbox.transaction(() => storage.run('acme', () => outbox.write('Tested', 1)))
    await outbox.drain()
    equal(calls, 1)
    match(log.join('\n'), /"a" failed.*no capture/)
    match(log.join('\n'), /"b" failed.*no restore/)
  })

  it('does not hide what the listener throws', async (test) => {
    const store = memoryStore()
    const outbox = await Outbox.multiNode({ store, logger: false, context: [tenant], maxAttempts: 1 }).start()
    test.after(() => outbox.close())
    outbox.on('Tested', () => {
      throw new Error('from the listener')
    })
    const id = await outbox.transaction(() => storage.run('acme', () => outbox.write('Tested', 1)))
    await outbox.drain()
    equal((await rowOf(store, id))!.lastError, 'Error: from the listener')
  })

  it("yields to the event's own header, and is left out where it would be too large", async (test) => {
    const seen: unknown[] = []
    const log: string[] = []
    const logger = { debug() {}, info() {}, warn: (line: string) => void log.push(line), error() {} }
    const outbox = await Outbox.multiNode({ store: memoryStore(), logger, context: [tenant] }).start()
    test.after(() => outbox.close())
    outbox.on('Tested', ({ headers }) => void seen.push(headers['x-tenant']?.slice(0, 5), headers.a?.length))
    await outbox.transaction(() =>
      storage.run('acme', async () => {
        await outbox.write('Tested', 1, { headers: { 'x-tenant': 'own' } })
        await outbox.write('Tested', 2, { headers: { a: 'x'.repeat(65_520) } })
      }),
    )
    await outbox.drain()
    deepEqual(seen, ['own', undefined, undefined, 65_520])
    equal(log.length, 1)
    match(log[0]!, /^An event is written without its context \(x-tenant\): its headers would be too large\.$/)
  })

  it('whose value is too large is left out alone, and the log counts it without its value', async (test) => {
    const time = fakeClock()
    const log: string[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (line: string) => void log.push(line) }
    const huge = { ...tenant, name: 'x-huge', capture: () => 'secret'.repeat(12_000) }
    const store = memoryStore({ now: time.now })
    const outbox = await Outbox.writerOnly({ store, logger, clock: time, context: [huge, tenant] }).start()
    test.after(() => outbox.close())
    for (let writes = 0; writes < 8; writes++) {
      const id = await outbox.transaction(() => storage.run('acme', () => outbox.write('Tested', 1)))
      deepEqual(JSON.parse((await rowOf(store, id))!.headers!), { 'x-tenant': 'acme' })
    }
    await time.advance(10_000)
    equal(log.length, 6)
    match(log[5]!, /^3 more failures of the context carrier "x-huge" within 10 s.*left out.*too long\.$/)
    doesNotMatch(log.join(), /secret/)
  })

  it('whose value no store can keep is left out and reported, not changed', async (test) => {
    const log: string[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (line: string) => void log.push(line) }
    const context = ['acme\0', '\ud800'].map((value, index) => ({
      ...tenant,
      name: `x-${index}`,
      capture: () => value,
    }))
    const store = memoryStore()
    const outbox = await Outbox.writerOnly({ store, logger, context }).start()
    test.after(() => outbox.close())
    const id = await outbox.transaction(() => outbox.write('Tested', 1))
    equal((await rowOf(store, id))!.headers, null)
    deepEqual(
      log.map((line) => /carrier "(.*)" failed, and its value is left out.*can be stored/.exec(line)?.[1]),
      ['x-0', 'x-1'],
    )
  })

  it('cannot have the name of a header that the outbox uses itself, or cannot store', () => {
    const make = (name: string) => () =>
      Outbox.writerOnly({ store: memoryStore(), context: [{ ...tenant, name }] })
    for (const name of ['event-version', 'Event-Version', 'sendoff-replaces', '__proto__']) {
      throws(make(name), {
        code: 'OUTBOX_INVALID_OPTION',
        message: /A carrier in the context of .* cannot have the name "/,
      })
    }
    for (const name of ['x\0', '\ud800']) {
      throws(make(name), {
        code: 'OUTBOX_INVALID_OPTION',
        message: /"name" of a carrier in the context of .* must be a string without NUL/,
      })
    }
  })

  it('needs a name, capture and restore', () => {
    const make = (carrier: object) => () =>
      Outbox.writerOnly({ store: memoryStore(), context: [carrier as ContextCarrier] })
    throws(make({ name: 'a', capture: () => 'a' }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ ...tenant, name: '' }), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
