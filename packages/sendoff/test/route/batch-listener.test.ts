import { deepEqual, equal, match } from 'node:assert/strict'
import { UnrecoverableError } from '../../src/errors.ts'
import { defineEvent } from '../../src/event/event-type.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import type { BatchAnswer, BatchContext } from '../../src/route/event-listener.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'

type React = (payloads: any[], context: BatchContext) => readonly BatchAnswer[] | void | Promise<void>

function batchListener(react: React) {
  const batches: any[][] = []
  return {
    batches,
    onEvents(events: readonly { payload: unknown }[], context: BatchContext) {
      const payloads = events.map((event) => event.payload)
      batches.push(payloads)
      return react(payloads, context)
    },
  }
}

onEveryStore('a batch listener gets what waits for it, up to its limit', async (test, open, mode) => {
  const gate = new Gate()
  const relay = batchListener((payloads) => (payloads[0] === 0 ? gate.passed : undefined))
  const listeners = new ListenerRegistry().register('Tested', relay, { maxBatchSize: 4 })
  const { outbox, metrics } = await startOutbox(test, open(), { mode, listeners, workerCount: 1 })
  await writeTested(outbox, 0)
  while (relay.batches.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await writeTested(outbox, 1, 2, 3, 4, 5, 6)
  gate.open()
  await metrics.until((seen) => seen.dispatchSuccess === 7)
  deepEqual(relay.batches, [[0], [1, 2, 3, 4], [5, 6]])
})

onEveryStore('every event of a batch has an outcome of its own', async (test, open, mode) => {
  const answers: Record<string, () => BatchAnswer> = {
    ok: () => undefined,
    done: () => DispatchResult.done(),
    later: () => DispatchResult.retryAfter(1),
    never: () => DispatchResult.dead('cancelled'),
    failed: () => new TypeError('no leader'),
    hopeless: () => new UnrecoverableError('too large'),
  }
  const attempts: Record<string, number[]> = {}
  const relay = batchListener((payloads, { deliveries }) => {
    payloads.forEach((payload, index) => (attempts[payload] ??= []).push(deliveries[index]!.attempt))
    return payloads.map((payload) => (attempts[payload]!.length > 1 ? undefined : answers[payload]!()))
  })
  const listeners = new ListenerRegistry().register('Tested', relay)
  const { outbox, store, metrics } = await startOutbox(test, open(), {
    mode,
    listeners,
    retryPolicy: fixedDelay(1),
  })
  await writeTested(outbox, ...Object.keys(answers))
  await metrics.until((seen) => seen.dispatchSuccess === 4 && seen.dispatchDead === 2)
  deepEqual(
    (await store.people.query({ limit: 9 })).map((row) => [
      row.payload,
      row.status,
      row.attempts,
      row.lastError,
    ]),
    [
      ['"ok"', 1, 0, null],
      ['"done"', 1, 0, null],
      ['"later"', 1, 0, null],
      ['"never"', 3, 0, 'cancelled'],
      ['"failed"', 1, 1, null],
      ['"hopeless"', 3, 0, 'UnrecoverableError: too large'],
    ],
  )
  deepEqual(attempts['failed'], [1, 2])
})

onEveryStore('a batch that throws, or answers for too few, fails as a whole', async (test, open, mode) => {
  let calls = 0
  const relay = batchListener((payloads) => {
    if (calls++ === 0) throw new Error('broker away')
    if (calls === 2) return payloads.slice(1).map(() => undefined)
    return undefined
  })
  const listeners = new ListenerRegistry().register('Tested', relay)
  const { outbox, store, metrics } = await startOutbox(test, open(), {
    mode,
    listeners,
    workerCount: 1,
    retryPolicy: fixedDelay(5),
  })
  const [id] = await writeTested(outbox, 1, 2)
  await metrics.until((seen) => seen.dispatchSuccess === 2)
  const errors = (await store.people.attempts({ eventId: id!, destination: '' })).map(({ error }) => error)
  equal(errors[0], 'Error: broker away')
  match(errors[1]!, /onEvents\(\) answered for 1 of 2 events|answered for 0 of 1/)
})

onEveryStore(
  'one listener can serve several events, and a default one the rest',
  async (test, open, mode) => {
    const placed = defineEvent<number>('Placed', { aggregateType: 'Order' })
    const seen: string[] = []
    const listeners = new ListenerRegistry()
      .register([placed, 'Paid'], (event) => void seen.push(`relay ${event.eventType}`))
      .registerDefault((event) => void seen.push(`default ${event.eventType}`))
    const { outbox, metrics } = await startOutbox(test, open(), { mode, listeners })
    await outbox.transaction(async () => {
      await outbox.write(placed, 1)
      await outbox.write('Paid', 2)
      await outbox.write('Shipped', 3)
    })
    await metrics.until((now) => now.dispatchSuccess === 3)
    deepEqual(seen.sort(), ['default Shipped', 'relay Paid', 'relay Placed'])
  },
)
