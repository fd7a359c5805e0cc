import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mailRetries } from '../../src/mail/index.ts'
import { InMemoryMetrics } from '../../src/observe/metrics.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { exponentialBackoff } from '../../src/retry/exponential-backoff.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { linearBackoff } from '../../src/retry/linear-backoff.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import {
  onEveryStore,
  onEveryStoreOnce,
  rowOf,
  startOutbox,
  writeTested,
} from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

onEveryStore('a logger and a metrics exporter that throw do no harm', async (test, open, mode) => {
  const fail = () => {
    throw new Error('plugged in badly')
  }
  const metrics = new Proxy(new InMemoryMetrics(), { get: () => fail })
  const log: string[] = []
  const first = await startOutbox(test, open(), {
    mode,
    metrics,
    logger: { debug: fail, info: fail, warn: fail, error: fail },
  })
  await writeTested(first.outbox, 1)
  await first.outbox.drain()
  await first.outbox.close()

  const logger = { debug() {}, info() {}, warn() {}, error: (line: string) => void log.push(line) }
  const second = await startOutbox(test, open(), { mode, metrics, logger })
  await writeTested(second.outbox, 2)
  await second.outbox.drain()
  deepEqual([...first.listener.payloads, ...second.listener.payloads], [1, 2])
  match(log.join('\n'), /The metrics exporter failed\. Error: plugged in badly/)
})

onEveryStore('a logger and a metrics exporter that reject do no harm', async (test, open, mode) => {
  const reject = () => Promise.reject(new Error('plugged in badly'))
  const metrics = new Proxy(new InMemoryMetrics(), { get: () => reject })
  const log: string[] = []
  const logger = {
    debug: reject,
    info: reject,
    warn: reject,
    error: (line: string) => {
      log.push(line)
      return reject()
    },
  }
  const { outbox, listener } = await startOutbox(test, open(), { mode, metrics, logger })
  await writeTested(outbox, 1)
  await outbox.drain()
  deepEqual(listener.payloads, [1])
  match(log.join('\n'), /The metrics exporter failed\. Error: plugged in badly/)
})

onEveryStore('a result that cannot be read is a failed attempt', async (test, open, mode) => {
  const unreadable = {
    kind: 'dead' as const,
    get reason(): string {
      throw new Error('no reason')
    },
  }
  const listeners = new ListenerRegistry()
    .register('Tested', () => unreadable)
    .register('InBatch', { onEvents: (events) => events.map(() => unreadable) })
  const { outbox, store, metrics } = await startOutbox(test, open(), { mode, listeners, maxAttempts: 1 })
  const [single] = await writeTested(outbox, 1)
  const inBatch = await outbox.transaction(() => outbox.write('InBatch', 1))
  await metrics.until((seen) => seen.dispatchDead === 2)
  for (const id of [single!, inBatch]) {
    const row = (await rowOf(store, id))!
    deepEqual([row.attempts, row.lastError], [1, 'Error: no reason'])
  }
})

onEveryStore('a filter of errors that throws gives no event up', async (test, open, mode) => {
  const shouldRetry = (): boolean => {
    throw new Error('plugged in badly')
  }
  let calls = 0
  const listener = new RecordingListener(() => {
    if (++calls < 3) throw new Error('not yet')
  })
  const retryPolicy = { computeDelayMs: () => 1, shouldRetry }
  const { outbox, log, metrics } = await startOutbox(test, open(), { mode, listener, retryPolicy })
  await writeTested(outbox, 1)
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  match(log.join('\n'), /shouldRetry\(\) of a retry policy failed.*plugged in badly/)
})

const throwing = () => {
  throw new Error('plugged in badly')
}
for (const [name, startSpan] of [
  ['that throws', throwing],
  ['whose spans throw', () => ({ setAttribute: throwing, recordException: throwing, end: throwing })],
  ['that has no spans', () => undefined as never],
] as const) {
  onEveryStoreOnce(`a tracer ${name} stops no tick`, async (test, open) => {
    const { outbox, listener, log } = await startOutbox(test, open(), {
      mode: 'singleWriter',
      ...({ tracer: { startSpan } } as object),
    })
    const writer = await Outbox.writerOnly<any, any>({ store: open(), logger: false }).start()
    test.after(() => writer.close())
    for (const payload of [1, 2]) {
      await writer.transaction(() => writer.write('Tested', payload))
      while (!listener.payloads.includes(payload)) await outbox.poll()
    }
    deepEqual(listener.payloads, [1, 2])
    match(log.join('\n'), /The tracer failed/)
  })
}

describe('an outbox checks its options when it is made', () => {
  const base = () => ({ store: memoryStore(), listeners: new ListenerRegistry(), logger: false as const })

  it('names the methods that an exporter lacks', () => {
    const metrics: unknown = Object.assign(new InMemoryMetrics(), {
      incrementHotBroken: undefined,
      recordOldestLagMs: 7,
    })
    throws(() => Outbox.multiNode({ ...base(), metrics: metrics as InMemoryMetrics }), {
      code: 'OUTBOX_INVALID_OPTION',
      message: /"metrics".* lacks incrementHotBroken\(\), recordOldestLagMs\(\)/,
    })
  })

  it('refuses a renewal margin that leaves no time for deliveries', () => {
    const refused = { code: 'OUTBOX_INVALID_OPTION', message: /renewMarginMs.* less than its ttlMs/ }
    throws(() => Outbox.singleWriter({ ...base(), lock: { ttlMs: 1_000, renewMarginMs: 1_000 } }), refused)
    throws(() => Outbox.singleWriter({ ...base(), leaseMs: 500, lock: { renewMarginMs: 501 } }), refused)
    throws(() => Outbox.singleWriter({ ...base(), lock: { renewMarginMs: 30_000 } }), refused)
    Outbox.singleWriter({ ...base(), lock: { ttlMs: 1_000, renewMarginMs: 999 } })
  })

  it('takes any number of attempts, and Infinity', () => {
    for (const maxAttempts of [1, 1_000, Infinity]) {
      Outbox.multiNode({ ...base(), maxAttempts })
      equal(mailRetries(maxAttempts).maxAttempts, maxAttempts)
      for (const policy of [
        exponentialBackoff({ maxAttempts }),
        linearBackoff({ maxAttempts }),
        fixedDelay(1, { maxAttempts }),
      ]) {
        equal(policy.maxAttempts, maxAttempts)
        equal(Number.isFinite(policy.computeDelayMs(1_000_000)), true)
      }
    }
    for (const maxAttempts of [0, -Infinity, 1.5, NaN]) {
      throws(() => Outbox.multiNode({ ...base(), maxAttempts }), { code: 'OUTBOX_INVALID_OPTION' })
      throws(() => mailRetries(maxAttempts), { code: 'OUTBOX_INVALID_OPTION' })
    }
  })
})

onEveryStore('an event with infinite attempts is never given up', async (test, open, mode) => {
  let calls = 0
  const listener = new RecordingListener(() => {
    if (++calls <= 15) throw new Error('away')
  })
  const { outbox, metrics } = await startOutbox(test, open(), {
    mode,
    listener,
    maxAttempts: Infinity,
    retryPolicy: fixedDelay(1),
  })
  await writeTested(outbox, 1)
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  equal(metrics.dispatchFailure, 15)
})
