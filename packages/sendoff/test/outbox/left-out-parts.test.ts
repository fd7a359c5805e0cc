import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { OutboxOptions } from '../../src/outbox/outbox-options.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { OutboxStore, StorePart } from '../../src/store/index.ts'
import { memoryStore, type MemoryTx } from '../../src/stores/memory/index.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const optional: readonly StorePart[] = [
  'lanes',
  'partitions',
  'people',
  'orderingKeys',
  'controls',
  'wakeUps',
  'purge',
  'inbox',
]

/** A store in memory that has only these of the optional parts. */
function storeWith(...parts: readonly StorePart[]): OutboxStore<MemoryTx> {
  const whole = memoryStore()
  return Object.fromEntries(
    Object.entries(whole).filter(
      ([name]) => !optional.includes(name as StorePart) || parts.includes(name as StorePart),
    ),
  ) as unknown as OutboxStore<MemoryTx>
}

function optionsOf(store: OutboxStore<MemoryTx>): OutboxOptions<MemoryTx, MemoryTx> {
  return { store, listeners: new ListenerRegistry().registerDefault(() => {}), logger: false }
}

const cannot = (message: RegExp) => ({ code: 'OUTBOX_STORE_CANNOT', message })

it('an error names the part that a mode needs and the store lacks', () => {
  const bare = optionsOf(storeWith())
  throws(() => Outbox.ordered(bare), cannot(/^Outbox\.ordered needs "lanes" of the store/))
  throws(
    () => Outbox.partitioned(bare),
    cannot(/^Outbox\.partitioned needs "lanes" and "partitions" of the store/),
  )
  throws(
    () => Outbox.partitioned(optionsOf(storeWith('lanes'))),
    cannot(/^Outbox\.partitioned needs "partitions" of the store/),
  )
  throws(() => Outbox.multiNode({ ...bare, purge: true }), cannot(/"purge"/))
})

it('delivery in write order needs no partitions', async (test: TestContext) => {
  const seen: unknown[] = []
  const outbox = await Outbox.ordered({
    ...optionsOf(storeWith('lanes')),
    listeners: new ListenerRegistry().registerDefault(({ payload }) => void seen.push(payload)),
  }).start()
  test.after(() => outbox.close())
  await outbox.transaction(async () => {
    for (const number of [1, 2, 3]) await outbox.write('Tested', number)
  })
  await outbox.drain()
  deepEqual(seen, [1, 2, 3])
})

for (const mode of ['singleNode', 'multiNode'] as const) {
  it(`a store without any optional part delivers every event, ${mode}`, async (test) => {
    const { outbox, listener, metrics } = await startOutbox(test, storeWith() as never, { mode })
    await writeTested(outbox, 1, 2)
    await listener.called(2)
    await metrics.until((seen) => seen.dispatchSuccess === 2)

    await rejects(outbox.deadEvents.count(), cannot(/^DeadEventManager needs "people" of the store/))
    await rejects(outbox.pause({ eventType: 'Tested' }), cannot(/^Pausing needs "controls" of the store/))
    await rejects(outbox.paused(), cannot(/"controls"/))
    throws(() => outbox.blockedKeys, cannot(/^outbox\.blockedKeys needs "orderingKeys" of the store/))
  })
}

it('a settlement whose answer was lost counts as refused if the store cannot return the row', async (test) => {
  let answered = false
  const store = faultyStore(storeWith(), {
    async settle(real, request) {
      const refused = await real(request)
      if (answered) return refused
      answered = true
      throw new Error('the answer got lost')
    },
  })
  const listener = new RecordingListener()
  const { outbox, metrics, log } = await startOutbox(test, store as never, { listener })
  await writeTested(outbox, 1)

  await metrics.until((seen) => seen.settlementRefused === 1)
  equal(metrics.dispatchSuccess, 0)
  match(log.join('\n'), /came too late and was refused/)
})
