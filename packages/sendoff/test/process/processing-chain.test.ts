import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { RetryAfterError, UnrecoverableError } from '../../src/errors.ts'
import { JsonCodec } from '../../src/event/json-codec.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { ProcessingChain, type ProcessingChainOptions } from '../../src/process/processing-chain.ts'
import type { FailedDelivery } from '../../src/process/processor.ts'
import { DispatchResult } from '../../src/route/dispatch-result.ts'
import type { ListenerFunction } from '../../src/route/event-listener.ts'
import type { FinalFailure } from '../../src/route/fallback.ts'
import { type ListenerOptions, ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { Outcome } from '../../src/store/index.ts'
import { deliveryOf } from '../fixtures/delivery-of.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const soon = fixedDelay(1)

describe('the scenarios of the processing chain', () => {
  onEveryStore('retries exhausted, and the fallback succeeds: DONE', async (test, open, mode) => {
    const failures: FinalFailure[] = []
    const listener = new RecordingListener(() => Promise.reject(new Error('warehouse closed')))
    const listeners = new ListenerRegistry().register('Tested', listener, {
      fallback: async (_, failure) => void failures.push(failure),
    })
    const { outbox, store, metrics } = await startOutbox(test, open(), {
      mode,
      listeners,
      retryPolicy: soon,
      maxAttempts: 4,
    })
    const [id] = await writeTested(outbox, 1)
    await metrics.until((seen) => seen.dispatchSuccess === 1)

    equal(listener.events.length, 4)
    equal(metrics.dispatchFailure, 3)
    deepEqual(
      failures.map(({ attempts, reason, lastError }) => [attempts, reason, String(lastError)]),
      [[4, 'exhausted', 'Error: warehouse closed']],
    )
    const row = (await rowOf(store, id!))!
    deepEqual([row.status, row.attempts, row.lastError], [1, 4, null])
    equal((await store.people.attempts({ eventId: id!, destination: '' })).length, 4)
  })

  onEveryStore('not worth a retry: straight to the fallback', async (test, open, mode) => {
    class Declined extends Error {}
    const reasons: string[] = []
    const listener = new RecordingListener((event) => {
      throw event.payload === 'declined' ? new Declined('no funds') : new UnrecoverableError('bad card')
    })
    const listeners = new ListenerRegistry().register('Tested', listener, {
      retry: fixedDelay(1, { noRetryOn: [Declined] }),
      fallback: (_, { reason }) => void reasons.push(reason),
    })
    const { outbox, metrics } = await startOutbox(test, open(), { mode, listeners })
    await writeTested(outbox, 'declined', 'bad card')
    await metrics.until((seen) => seen.dispatchSuccess === 2)
    equal(listener.events.length, 2)
    deepEqual(reasons, ['notRetryable', 'notRetryable'])
  })

  onEveryStore('no fallback, or one that fails: DEAD', async (test, open, mode) => {
    const listeners = new ListenerRegistry()
      .register('Tested', () => Promise.reject(new TypeError('primary')))
      .register('WithFallback', () => Promise.reject(new TypeError('primary')), {
        fallback: () => Promise.reject(new Error('secondary')),
      })
    const { outbox, store, metrics } = await startOutbox(test, open(), {
      mode,
      listeners,
      retryPolicy: soon,
      maxAttempts: 2,
    })
    const [plain] = await writeTested(outbox, 1)
    const both = await outbox.transaction(() => outbox.write('WithFallback', 1))
    await metrics.until((seen) => seen.dispatchDead === 2)
    equal((await rowOf(store, plain!))!.lastError, 'TypeError: primary')
    match(
      (await rowOf(store, both))!.lastError!,
      /^TypeError: .*primary.*the fallback failed: Error: secondary/,
    )
  })
})

onEveryStore('delivered events are removed where that is asked for', async (test, open, mode) => {
  const listeners = new ListenerRegistry()
    .register('Tested', () => {})
    .register('Rescued', () => Promise.reject(new Error('no')), { fallback: () => {} })
    .register('Dead', () => DispatchResult.dead())
  const { outbox, store, metrics } = await startOutbox(test, open(), {
    mode,
    listeners,
    deleteCompleted: true,
    maxAttempts: 1,
  })
  await outbox.transaction(async () => {
    await outbox.write('Tested', 1)
    await outbox.write('Rescued', 1)
    await outbox.write('Dead', 1)
  })
  await metrics.until((seen) => seen.dispatchSuccess === 2 && seen.dispatchDead === 1)
  deepEqual(
    (await store.people.query({ limit: 5 })).map((row) => row.eventType),
    ['Dead'],
  )
})

onEveryStore(
  'a policy of the listener comes before one of the event type, and that before the default',
  async (test, open, mode) => {
    const fail = () => Promise.reject(new Error('no'))
    const listeners = new ListenerRegistry()
      .register('ByListener', fail, { retry: fixedDelay(1, { maxAttempts: 2 }) })
      .register('ByType', fail)
      .register('ByDefault', fail)
    const { outbox, store, metrics } = await startOutbox(test, open(), {
      mode,
      listeners,
      retryPolicy: fixedDelay(1, { maxAttempts: 4 }),
      retryPolicyByType: {
        ByType: fixedDelay(1, { maxAttempts: 3 }),
        ByListener: fixedDelay(1, { maxAttempts: 9 }),
      },
    })
    await outbox.transaction(async () => {
      for (const type of ['ByListener', 'ByType', 'ByDefault']) await outbox.write(type, 1)
    })
    await metrics.until((seen) => seen.dispatchDead === 3)
    deepEqual(
      (await store.people.query({ limit: 5 })).map((row) => row.attempts),
      [2, 3, 4],
    )
  },
)

onEveryStore('each stage can be replaced', async (test, open, mode) => {
  const calls: string[] = []
  const listeners = new ListenerRegistry().register('Tested', () => Promise.reject(new Error('no')))
  const { outbox, store, metrics } = await startOutbox(test, open(), {
    mode,
    listeners,
    processors: {
      primary: {
        process(event, route, context) {
          calls.push(`primary ${context.attempt}`)
          return 'onEvent' in route.listener ? route.listener.onEvent(event, context) : undefined
        },
      },
      retry: { process: (failed) => (calls.push('retry'), failed) },
      fallback: { process: (failed) => (calls.push('fallback'), failed) },
      permanentFailure: {
        process: () => (
          calls.push('permanent'),
          { kind: 'dead', failure: { error: 'Mine: gone', counted: false } }
        ),
      },
    },
  })
  const [id] = await writeTested(outbox, 1)
  await metrics.until((seen) => seen.dispatchDead === 1)
  deepEqual(calls, ['primary 1', 'retry', 'fallback', 'permanent'])
  equal((await rowOf(store, id!))!.lastError, 'Mine: gone')
})

describe('the chain', () => {
  const codec = JsonCodec.getDefault()
  const chainOf = (
    listener: ListenerFunction,
    options: Partial<ProcessingChainOptions>,
    route: ListenerOptions<unknown> = {},
  ) =>
    new ProcessingChain({
      listeners: new ListenerRegistry().register('Tested', listener, route),
      codec,
      logger: silentLogger,
      interceptors: [],
      processors: {},
      retryPolicy: soon,
      retryPolicyByType: {},
      maxAttempts: 3,
      maxLosses: 20,
      onUnroutable: 'dead',
      unroutableDelayMs: 1,
      deleteCompleted: false,
      onGivenUp: () => 'dead',
      ...options,
    })

  it('has an outcome for whatever a listener, a fallback and a policy do', async () => {
    const behaviour = fc.constantFrom(
      'ok',
      'retryAfter',
      'dead',
      'throw',
      'unrecoverable',
      'retryAfterError',
      'nonsense',
    )
    await fc.assert(
      fc.asyncProperty(
        behaviour,
        fc.constantFrom('none', 'ok', 'throw'),
        fc.nat({ max: 5 }),
        fc.integer({ min: 1, max: 5 }),
        async (listener, fallback, attempts, maxAttempts) => {
          const route =
            fallback === 'none' ? {} : { fallback: () => (fallback === 'throw' ? fail() : undefined) }
          const outcome = await chainOf(() => act(listener), { maxAttempts }, route).process(
            deliveryOf({ attempts }),
          )
          deepEqual(summaryOf(outcome), expected(listener, fallback, attempts, maxAttempts))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('falls back on the default backoff where a policy throws, or answers what is no delay', async () => {
    const answers: (() => number)[] = [fail, () => Number.NaN, () => -1, () => Infinity, () => '5' as never]
    for (const computeDelayMs of answers) {
      const outcome = await chainOf(() => fail(), { retryPolicy: { computeDelayMs } }).process(deliveryOf({}))
      equal(outcome.kind, 'retry')
      ok((outcome as { delayMs: number }).delayMs >= 100 && (outcome as { delayMs: number }).delayMs <= 300)
    }
    const after = () => {
      throw new RetryAfterError(Number.NaN)
    }
    equal((await chainOf(after, {}).process(deliveryOf({}))).kind, 'retry')
  })

  it('keeps the count where a last stage of one’s own has no answer, and survives one that throws', async () => {
    const passing = { permanentFailure: { process: (failed: FailedDelivery) => failed } }
    const outcome = await chainOf(() => fail(), { processors: passing, maxAttempts: 1 }).process(
      deliveryOf({}),
    )
    deepEqual(summaryOf(outcome), ['dead', 'TypeError: no', true])

    const throwing = { retry: { process: () => fail() } }
    deepEqual(summaryOf(await chainOf(() => fail(), { processors: throwing }).process(deliveryOf({}))), [
      'dead',
      'TypeError: no',
      false,
    ])
  })

  it('calls no fallback for a listener that stopped because its lease was lost', async () => {
    let called = false
    const delivery = deliveryOf({ attempts: 5 })
    const stop = () => {
      delivery.lose()
      return fail()
    }
    const outcome = await chainOf(stop, {}, { fallback: () => void (called = true) }).process(delivery)
    equal(outcome.kind, 'defer')
    equal(called, false)
  })

  it('finds a policy for an event type of any name', async () => {
    const listeners = new ListenerRegistry().register('constructor', () => fail())
    const outcome = await chainOf(() => {}, { listeners }).process(deliveryOf({ eventType: 'constructor' }))
    equal(outcome.kind, 'retry')
  })

  function act(behaviour: string): any {
    switch (behaviour) {
      case 'ok':
        return undefined
      case 'retryAfter':
        return DispatchResult.retryAfter(5)
      case 'dead':
        return DispatchResult.dead('cancelled')
      case 'unrecoverable':
        throw new UnrecoverableError('bad')
      case 'retryAfterError':
        throw new RetryAfterError(7, 'busy')
      case 'nonsense':
        return { kind: 'whatever' }
      default:
        return fail()
    }
  }

  function fail(): never {
    throw new TypeError('no')
  }

  function expected(listener: string, fallback: string, attempts: number, maxAttempts: number): unknown {
    const errors: Record<string, [string, boolean]> = {
      throw: ['TypeError: no', true],
      unrecoverable: ['UnrecoverableError: bad', false],
      retryAfterError: ['RetryAfterError: busy', true],
    }
    if (listener === 'ok' || listener === 'nonsense') return ['done']
    if (listener === 'retryAfter') return ['defer', 5]
    if (listener === 'dead') return ['dead', 'cancelled', false]
    const [error, counted] = errors[listener]!
    if (counted && attempts + 1 < maxAttempts) return ['retry', listener === 'retryAfterError' ? 7 : 1, error]
    if (fallback === 'ok') return ['done', error, counted]
    return ['dead', error, counted]
  }

  function summaryOf(outcome: Outcome): unknown {
    const failure = 'failure' in outcome ? outcome.failure : undefined
    const error = failure?.error.replace(/^(\w+: )\w+: (.*); and the fallback failed: TypeError: no$/, '$1$2')
    if (outcome.kind === 'retry') return ['retry', outcome.delayMs, error]
    if (outcome.kind === 'defer') return ['defer', outcome.delayMs]
    return failure === undefined ? [outcome.kind] : [outcome.kind, error, failure.counted]
  }
})
