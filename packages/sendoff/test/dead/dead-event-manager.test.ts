import { deepEqual, equal, match, ok, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DeadEventManager } from '../../src/dead/dead-event-manager.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { onEveryStore, startOutbox } from '../fixtures/outbox-fixture.ts'

async function withDeadEvents(test: any, store: any, mode: any, count: number) {
  const state = { broken: true, delivered: 0 }
  const react = () => {
    if (state.broken) return DispatchResult.dead('broken')
    state.delivered++
    return DispatchResult.done()
  }
  const listeners = new ListenerRegistry().register('Order', 'Paid', react).register('User', 'Created', react)
  const fixture = await startOutbox(test, store, { mode, listeners })
  await fixture.outbox.transaction(async () => {
    for (let n = 0; n < count; n++) {
      const [aggregateType, type] = n % 2 === 0 ? ['Order', 'Paid'] : ['User', 'Created']
      await fixture.outbox.write(type, n, { aggregateType, tenantId: `t${n % 3}` })
    }
  })
  await fixture.metrics.until((seen) => seen.dispatchDead === count)
  return { ...fixture, state }
}

onEveryStore('dead events can be found, counted and replayed one by one', async (test, open, mode) => {
  const { outbox, metrics, state } = await withDeadEvents(test, open(), mode, 6)
  const { deadEvents } = outbox
  equal(await deadEvents.count(), 6)
  equal(await deadEvents.count({ eventType: 'Paid' }), 3)
  deepEqual(
    (await deadEvents.query({ aggregateType: 'User' })).map((row) => row.payload),
    ['1', '3', '5'],
  )
  deepEqual(
    (await deadEvents.query({ tenantId: 't0', limit: 1 })).map((row) => row.payload),
    ['0'],
  )

  state.broken = false
  const [first] = await deadEvents.query()
  equal(await deadEvents.replay(first!.eventId), true)
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  equal(await deadEvents.replay(first!.eventId), false)
  equal(await deadEvents.replay('nobody'), false)
  equal(await deadEvents.count(), 5)
  deepEqual(
    (await deadEvents.attempts(first!.eventId)).map(({ error }) => error),
    ['broken'],
  )
})

onEveryStore(
  'all that match are replayed in batches, each once, even if they die again',
  async (test, open, mode) => {
    const { outbox, metrics, state } = await withDeadEvents(test, open(), mode, 25)
    const progress: number[] = []
    equal(
      await outbox.deadEvents.replayAll({}, { batchSize: 10, onProgress: (count) => progress.push(count) }),
      25,
    )
    deepEqual(progress, [10, 20, 25])
    await metrics.until((seen) => seen.dispatchDead === 50)

    state.broken = false
    equal(await outbox.deadEvents.replayAll({ eventType: 'Paid' }), 13)
    await metrics.until((seen) => seen.dispatchSuccess === 13)
    equal(await outbox.deadEvents.count(), 12)
  },
)

onEveryStore('a replay can be slowed down, and stopped', async (test, open, mode) => {
  const { outbox } = await withDeadEvents(test, open(), mode, 6)
  const startedAt = performance.now()
  equal(await outbox.deadEvents.replayAll({ eventType: 'Paid' }, { batchSize: 1, ratePerSecond: 20 }), 3)
  ok(performance.now() - startedAt >= 95)

  const stop = new AbortController()
  const replayed = outbox.deadEvents.replayAll(
    { eventType: 'Created' },
    {
      batchSize: 1,
      ratePerSecond: 0.01,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    },
  )
  equal(await replayed, 1)
})

describe('the dead event manager', () => {
  it('throws what the store throws, unless told to be lenient', async () => {
    async function fail(): Promise<never> {
      throw new Error('away')
    }
    const { people, actions } = memoryStore()
    const store = {
      people: { ...people, query: fail, count: fail },
      actions: { ...actions, run: fail },
    } as never
    const strict = new DeadEventManager({ store })
    await rejects(strict.query(), /away/)
    await rejects(strict.replayAll(), /away/)

    const log: string[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (line: string) => void log.push(line) }
    const lenient = new DeadEventManager({ store, lenient: true, logger })
    deepEqual(
      [await lenient.query(), await lenient.count(), await lenient.replay('x'), await lenient.replayAll()],
      [[], 0, false, 0],
    )
    equal(log.length, 4)
    match(log[0]!, /DeadEventManager\.query failed\. Error: away/)
  })

  it('refuses an event without an id, or with one that no database stores', async () => {
    const manager = new DeadEventManager({ store: memoryStore(), lenient: true })
    for (const id of [undefined as never, '', 'a\0']) {
      const refused = { code: 'OUTBOX_INVALID_OPTION', message: /"eventId"/ }
      await rejects(manager.replay(id), refused)
      await rejects(manager.attempts(id), refused)
    }
    await rejects(manager.replay('a', 'd'.repeat(51)), { message: /"destination" .* at most 50 characters/ })
    deepEqual(await manager.query({ destination: '' }), [])
  })

  it('refuses filters and options that do not exist', () => {
    const manager = new DeadEventManager({ store: memoryStore() })
    throws(() => manager.query({ type: 'Paid' } as object), {
      code: 'OUTBOX_UNKNOWN_OPTION',
      message: /eventType/,
    })
    throws(() => manager.replayAll({}, { ratePerSecond: 0 }), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
