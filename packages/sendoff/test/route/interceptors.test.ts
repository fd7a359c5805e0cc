import { deepEqual, equal, match } from 'node:assert/strict'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { EventInterceptor } from '../../src/route/event-interceptor.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

onEveryStore(
  'interceptors run before in order and after in reverse, with what it failed with',
  async (test, open, mode) => {
    const calls: string[] = []
    const traced = (name: string): EventInterceptor => ({
      beforeDispatch: async (event) => void calls.push(`${name} before ${event.payloadJson}`),
      afterDispatch: async (event, error) =>
        void calls.push(`${name} after ${event.payloadJson} ${String(error)}`),
    })
    const listener = new RecordingListener((_, { attempt }) => {
      calls.push('listener')
      if (attempt === 1) throw new Error('once')
    })
    const { outbox, metrics } = await startOutbox(test, open(), {
      mode,
      listener,
      retryPolicy: fixedDelay(1),
      interceptors: [traced('a'), traced('b')],
    })
    await writeTested(outbox, 1)
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    const before = ['a before 1', 'b before 1', 'listener']
    deepEqual(calls, [
      ...before,
      'b after 1 Error: once',
      'a after 1 Error: once',
      ...before,
      'b after 1 null',
      'a after 1 null',
    ])
  },
)

onEveryStore(
  'an error before counts as the listener’s, one after goes no further',
  async (test, open, mode) => {
    let closed = true
    const { outbox, store, listener, metrics, log } = await startOutbox(test, open(), {
      mode,
      retryPolicy: fixedDelay(1),
      interceptors: [
        EventInterceptor.before(() => {
          if (closed) {
            closed = false
            throw new Error('not now')
          }
        }),
        EventInterceptor.after(() => {
          throw new Error('audit is down')
        }),
      ],
    })
    const [id] = await writeTested(outbox, 1)
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    equal(listener.events.length, 1)
    equal((await rowOf(store, id!))!.attempts, 1)
    match(log.join('\n'), /An interceptor failed after event \w+\. Error: audit is down/)
  },
)

onEveryStore('interceptors see events that nobody listens for', async (test, open, mode) => {
  const errors: unknown[] = []
  const { outbox, metrics } = await startOutbox(test, open(), {
    mode,
    listeners: new ListenerRegistry(),
    interceptors: [EventInterceptor.after((_, error) => void errors.push((error as { code: string }).code))],
  })
  await writeTested(outbox, 1)
  await metrics.until((seen) => seen.dispatchDead === 1)
  deepEqual(errors, ['OUTBOX_NO_ROUTE'])
})

onEveryStore(
  'an interceptor that throws lets an event without a listener wait all the same',
  async (test, open, mode) => {
    const { outbox, metrics } = await startOutbox(test, open(), {
      mode,
      listeners: new ListenerRegistry(),
      onUnroutable: 'defer',
      interceptors: [
        EventInterceptor.before(() => {
          throw new Error('not now')
        }),
      ],
    })
    await writeTested(outbox, 1)
    await metrics.until((seen) => seen.dispatchDeferred === 1)
  },
  ['singleNode'],
)

onEveryStore('an interceptor hears of a listener that a shutdown interrupted', async (test, open, mode) => {
  const heard: unknown[] = []
  const listener = new RecordingListener((_, { signal }) => {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  })
  const { outbox } = await startOutbox(test, open(), {
    mode,
    listener,
    drainTimeoutMs: 5,
    shutdownTimeoutMs: 5,
    interceptors: [EventInterceptor.after((_, error) => void heard.push((error as { code: string }).code))],
  })
  await writeTested(outbox, 1)
  await listener.called(1)
  await outbox.close()
  deepEqual(heard, ['OUTBOX_SHUTDOWN'])
})
