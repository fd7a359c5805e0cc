import { deepEqual, equal } from 'node:assert/strict'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { WakeUp } from '../../src/store/index.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

onEveryStore('events of a paused type wait, on every node, while others go on', async (test, open, mode) => {
  const listener = new RecordingListener()
  const listeners = () => new ListenerRegistry().register('Tested', listener).register('Other', listener)
  const first = await startOutbox(test, open(), { mode, listeners: listeners() })
  const second = await startOutbox(test, open(), { mode, listeners: listeners(), hotQueueCapacity: 1 })
  await first.outbox.pause({ eventType: 'Tested' })
  deepEqual(await second.outbox.paused(), [{ eventType: 'Tested' }])

  await writeTested(first.outbox, 'paused')
  await first.outbox.transaction(() => first.outbox.write('Other', 'not paused'))
  await first.metrics.until((seen) => seen.dispatchSuccess === 1)
  await first.outbox.poll()
  await second.outbox.poll()
  deepEqual(listener.payloads, ['not paused'])

  await first.outbox.resume({ eventType: 'Tested' })
  await first.metrics.until((seen) => seen.dispatchSuccess === 2)
  deepEqual(listener.payloads, ['not paused', 'paused'])
})

onEveryStore('what is queued when its type is paused is handed back unharmed', async (test, open, mode) => {
  const gate = new Gate()
  const listener = new RecordingListener(() => gate.passed)
  const { outbox, store, metrics } = await startOutbox(test, open(), { mode, listener, workerCount: 1 })
  const [, queued] = await writeTested(outbox, 'running', 'queued')
  await listener.called(1)
  await outbox.pause({ eventType: 'Tested' })
  gate.open()
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  await outbox.poll()
  deepEqual(listener.payloads, ['running'])

  await outbox.resume({ eventType: 'Tested' })
  await metrics.until((seen) => seen.dispatchSuccess === 2)
  const [row] = await store.people.query({ eventId: queued!, limit: 1 })
  deepEqual([row!.attempts, row!.losses], [0, 0])
})

onEveryStore('a pause outlives the process that set it', async (test, open, mode) => {
  const first = await startOutbox(test, open(), { mode })
  await first.outbox.pause({ eventType: 'Tested' })
  await first.outbox.close()

  const next = await startOutbox(test, open(), { mode })
  await writeTested(next.outbox, 1)
  await next.outbox.poll()
  equal(next.listener.events.length, 0)
  await next.outbox.resume({ eventType: 'Tested' })
  await next.metrics.until((seen) => seen.dispatchSuccess === 1)
})

onEveryStore(
  'a change of pauses does not make a worker deliver again what it delivered',
  async (test, open, mode) => {
    const store = open()
    let wake: (wakeUp: WakeUp) => void = () => {}
    const wakeUps = {
      announce: async () => {},
      async listen(callback: (wakeUp: WakeUp) => void) {
        wake = callback
        return async () => {}
      },
    }
    let settlements = 0
    // The first settlement is refused, as after a lost lock. Pauses change before the row is read again.
    const faulty = faultyStore(store, {
      settle: async (settle, request) => (settlements++ === 0 ? request.settlements : settle(request)),
      async pollPending(poll, request) {
        if (settlements === 1) {
          wake({ controls: true })
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
        return poll(request)
      },
    })
    const withWakeUps = new Proxy(faulty, {
      get: (target, name) => (name === 'wakeUps' ? wakeUps : (Reflect.get(target, name) as unknown)),
    })
    const { outbox, listener, metrics } = await startOutbox(test, withWakeUps, { mode })
    await outbox.transaction(() => outbox.write('Tested', 'once', { deliverAfterMs: 1 }))
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(listener.ids.length, 1)
  },
  ['singleNode'],
)
