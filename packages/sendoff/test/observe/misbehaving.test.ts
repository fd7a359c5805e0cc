import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runInNewContext } from 'node:vm'
import { AggregatorRegistry, Registry } from 'prom-client'
import type { ContextCarrier } from '../../src/observe/context-carrier.ts'
import { InMemoryMetrics } from '../../src/observe/metrics.ts'
import { prometheusMetrics } from '../../src/observe/prometheus/index.ts'
import type { Tracing } from '../../src/observe/tracing.ts'
import type { EventEnvelope } from '../../src/event/event-envelope.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { BatchContext } from '../../src/route/event-listener.ts'
import { fixedDelay } from '../../src/retry/fixed-delay.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { until } from '../fixtures/outbox-fixture.ts'
import { scrape } from '../fixtures/scrape.ts'

// A rejection without a handler would end the process, and fails a test.
const reject = () => Promise.reject(new Error('plugged in badly'))
const rejectLater = { then: (_: unknown, no: (error: Error) => void) => no(new Error('plugged in badly')) }
const hang = () => new Promise(() => {})
const fail = () => {
  throw new Error('plugged in badly')
}
const unreadable = new Proxy({}, { get: fail, ownKeys: fail, has: fail })

type Behaviour = (...args: never[]) => unknown

const tracings: Readonly<Record<string, unknown>> = {
  'whose methods throw': tracingThat(fail),
  'whose methods reject': tracingThat(reject),
  'whose methods return thenables that reject': tracingThat(() => rejectLater),
  'whose methods never resolve': tracingThat(hang),
  'whose spans cannot be read': tracingThat(() => unreadable),
  'whose spans are text': tracingThat(() => 'span'),
  'whose spans are null': tracingThat(() => null),
  'whose spans are empty text': tracingThat(() => ''),
  'whose spans throw': tracingThat(spansThat(fail)),
  'whose spans reject': tracingThat(spansThat(reject)),
  'whose spans never run their work': tracingThat(spansThat(() => undefined)),
  'whose spans run their work twice': tracingThat(
    spansThat((work: unknown) => typeof work === 'function' && [work(), work()]),
  ),
  'whose spans are async': tracingThat(
    spansThat(async (work: unknown) => typeof work === 'function' && (await work())),
  ),
}

const modes = ['singleNode', 'multiNode', 'singleWriter', 'partitioned', 'ordered'] as const

for (const [name, tracing] of Object.entries(tracings)) {
  describe(`a tracing ${name} changes no delivery`, () => {
    for (const mode of modes) {
      it(`in ${mode}`, async (test) => {
        const { outbox } = await started(test, { tracing, maxAttempts: 5, retryPolicy: fixedDelay(1) }, mode)
        const delivered: unknown[] = []
        const all = Promise.withResolvers<void>()
        outbox.on('Tested', ({ payload }: EventEnvelope) => {
          delivered.push(payload)
          if (delivered.length === 1) throw new Error('not yet')
          if (delivered.length === 4) all.resolve()
        })
        await outbox.transaction(async () => {
          for (const payload of [1, 2, 3]) await outbox.write('Tested', payload, { orderingKey: 'k' })
        })
        await all.promise
        await outbox.drain()
        deepEqual(delivered.sort(), [1, 1, 2, 3])
      })
    }
  })
}

for (const [name, behaves] of Object.entries<() => unknown>({
  throw: fail,
  reject,
  'return thenables that reject': () => rejectLater,
  'never resolve': hang,
})) {
  describe(`an exporter, a logger and subscribers that ${name} change no delivery`, () => {
    for (const mode of modes) {
      it(`in ${mode}`, async (test) => {
        const metrics = new Proxy(new InMemoryMetrics(), { get: () => behaves })
        const logger = { debug: behaves, info: behaves, warn: behaves, error: behaves }
        const options = { metrics, logger, maxAttempts: 2, retryPolicy: fixedDelay(1) }
        const { outbox } = await started(test, options, mode)
        for (const event of ['failed', 'dead', 'blocked', 'outage', 'recovered'] as const) {
          outbox.events.on(event, behaves)
        }
        const delivered: unknown[] = []
        const all = Promise.withResolvers<void>()
        outbox.on('Tested', ({ payload }: EventEnvelope) => {
          delivered.push(payload)
          if (payload === 1) throw new Error('never')
          if (payload === 3) all.resolve()
        })
        await outbox.transaction(async () => {
          for (const payload of [1, 2, 3]) await outbox.write('Tested', payload, { orderingKey: 'k' })
        })
        await all.promise
        await outbox.drain()
        await outbox.close()
        deepEqual(new Set(delivered), new Set([1, 2, 3]))
      })
    }
  })
}

describe('what plugged-in code may hand over', () => {
  it('headers of a tracing that no store keeps are left out or mended', async (test) => {
    const headers = {
      traceparent: '00-' + 'a'.repeat(32) + '-' + 'b'.repeat(16) + '-01',
      nul: 'a\0b',
      half: 'a\ud800b',
      number: 7,
      big: 7n,
      get thrown() {
        return fail()
      },
      __proto__: { inherited: 'no' },
    }
    const seen: Readonly<Record<string, string>>[] = []
    for (const given of [headers, without(headers, 'thrown'), null]) {
      const { outbox, log } = await started(test, {
        tracing: { ...tracingThat(() => undefined), write: () => ({ headers: given, end() {} }) } as never,
      })
      outbox.on('Tested', (event: EventEnvelope) => void seen.push(event.headers))
      await outbox.transaction(() => outbox.write('Tested', 1))
      await outbox.drain()
      match(log.join('\n'), /The tracing failed/)
    }
    deepEqual(
      seen.map((own) => ({ ...own })),
      [{}, { traceparent: headers.traceparent, nul: 'ab', half: 'a\ufffdb' }, {}],
    )
  })

  it('a carrier that is async, or hands over no text that can be stored, loses its own value only', async (test) => {
    const restored: string[] = []
    const carriers = [
      carrier('x-rejects', reject),
      carrier('x-thenable', () => rejectLater),
      carrier('x-number', () => 7),
      carrier('x-nul', () => 'a\0b'),
      carrier(
        'x-fine',
        () => 'fine',
        async (value, run) => {
          restored.push(value)
          return await run()
        },
      ),
      carrier(
        'x-late',
        () => 'late',
        async (_, run) => {
          await new Promise((resolve) => setImmediate(resolve))
          return run()
        },
      ),
      carrier(
        'x-never',
        () => 'never',
        () => undefined,
      ),
    ]
    const { outbox, log } = await started(test, { context: carriers })
    const seen: unknown[] = []
    outbox.on('Tested', (event: EventEnvelope) => void seen.push({ ...event.headers }))
    await outbox.transaction(() => outbox.write('Tested', 1))
    await outbox.drain()
    deepEqual(seen, [{ 'x-fine': 'fine', 'x-late': 'late', 'x-never': 'never' }])
    deepEqual(restored, ['fine'])
    const failed = log.flatMap((line) => /The context carrier "([^"]+)" failed/.exec(line)?.[1] ?? [])
    const lost = ['x-nul', 'x-number', 'x-rejects', 'x-thenable']
    deepEqual([...new Set(failed)].sort(), ['x-late', 'x-never', ...lost])
  })

  it('an async carrier does not repeat the error of code that a batch listener runs in it', async (test) => {
    const context = [
      carrier(
        'x-fine',
        () => 'fine',
        async (_: string, run: () => unknown) => await run(),
      ),
    ]
    const { outbox, log } = await started(test, { context })
    const caught: unknown[] = []
    outbox.on('Tested', {
      async onEvents(_: unknown, { deliveries }: BatchContext) {
        await deliveries[0]!.run(() => reject()).catch((error: Error) => caught.push(error.message))
      },
    })
    await outbox.transaction(() => outbox.write('Tested', 1))
    await outbox.drain()
    deepEqual(caught, ['plugged in badly'])
    equal(log.join('\n').includes('context carrier'), false)
  })

  it('promises of another realm and thenables of subscribers are looked after', async (test) => {
    const { outbox, log } = await started(test, { maxAttempts: 1 })
    outbox.on('Tested', fail)
    outbox.events.on('dead', () => runInNewContext('Promise.reject(new Error("from elsewhere"))') as unknown)
    outbox.events.on('dead', () => rejectLater)
    outbox.events.on('dead', () => {
      const promise = reject()
      promise.catch = () => promise
      return promise
    })
    await outbox.transaction(() => outbox.write('Tested', 1))
    await outbox.drain()
    await until(() => log.filter((line) => line.includes('A subscriber to "dead" failed')).length === 3)
  })

  it('a tracer of single writers that is async stops no tick', async (test) => {
    for (const startSpan of [reject, () => rejectLater, hang, () => null, () => '', () => 'span']) {
      const log: string[] = []
      const store = memoryStore()
      const outbox = await Outbox.singleWriter({
        store,
        logger: { debug() {}, info() {}, warn() {}, error: (line: string) => void log.push(line) },
        tracer: { startSpan } as never,
        poller: { intervalMs: 5, busyIntervalMs: 5 },
      }).start()
      test.after(() => outbox.close())
      const done = Promise.withResolvers<void>()
      outbox.on('Tested', () => done.resolve())
      await outbox.transaction(() => outbox.write('Tested', 1, { deliverAfterMs: 1 }))
      await done.promise
      match(log.join('\n'), /The tracer failed/)
      await outbox.close()
    }
  })

  it('a fault at every event does not flood the log', async (test) => {
    const metrics = new Proxy(new InMemoryMetrics(), { get: () => fail })
    const tracing = tracingThat(fail) as Tracing
    const context = [carrier('x-fails', fail)]
    const { outbox, log } = await started(test, { metrics, tracing, context, maxAttempts: 1 })
    outbox.events.on('dead', fail)
    outbox.on('Tested', fail)
    for (let each = 0; each < 200; each++) await outbox.transaction(() => outbox.write('Tested', 1))
    await outbox.drain()
    // Subscribers are called in a later turn.
    await until(() => log.some((line) => line.startsWith('A subscriber')))
    await outbox.close()
    for (const of of [
      'The metrics exporter failed',
      'The tracing failed',
      'The context carrier "x-fails" failed',
      'A subscriber to "dead" failed',
    ]) {
      const lines = log.filter((line) => line.startsWith(of))
      ok(lines.length >= 1 && lines.length <= 5, `${lines.length} lines: ${of}`)
      const rest = log.filter((line) => /^\d+ more /.test(line) && line.includes(`The last: ${of}`))
      equal(rest.length, 1, of)
    }
  })
})

describe('labels and values of Prometheus', () => {
  it('quotes, newlines and long names stay inside their labels', async () => {
    const register = new Registry()
    const metrics = prometheusMetrics({ register, name: 'a"b\\c\nd' })
    const names = [
      'quo"te',
      'back\\slash',
      'new\nline',
      '__proto__',
      'constructor',
      'ü"}\n# HELP x',
      'x'.repeat(255),
    ]
    for (const eventType of names) {
      metrics.recordDelivery!({
        eventType,
        destination: 'a"\n',
        end: 'done',
        isHot: false,
        listenerMs: 1,
        deliveryMs: 1,
      })
    }
    const lines = (await register.metrics())
      .split('\n')
      .filter((line) => /^outbox_deliveries_total/.test(line))
    equal(lines.length, names.length * 5)
    const label = /(\w+)="((?:[^"\\]|\\.)*)"/g
    const seen = lines.flatMap((line) => {
      const labels = Object.fromEntries([...line.matchAll(label)].map(([, name, value]) => [name, value]))
      match(line, /^outbox_deliveries_total\{(\w+="(?:[^"\\]|\\.)*",?)+\} [01]$/)
      const text = labels.type!.replace(/\\(.)/g, (_: string, one: string) => (one === 'n' ? '\n' : one))
      return labels.outcome === 'done' ? [text] : []
    })
    deepEqual(seen, names)
  })

  it('a cluster of processes sums what each did, and takes the largest of what all see', async () => {
    const registers = [new Registry(), new Registry()]
    for (const [index, register] of registers.entries()) {
      const metrics = prometheusMetrics({ register })
      metrics.addDispatchDead!(index + 1)
      metrics.recordPoll!(1, 5)
      metrics.observe!({
        process: () => ({
          queues: { hot: 2, cold: 3 },
          held: { leased: 4, locked: 0 },
          partitions: 128,
          sincePollMs: 1_000 * (index + 1),
          isOutage: index === 1,
          breakers: { mail: 'open' },
        }),
        table: () =>
          Promise.resolve({
            at: 0,
            lagMs: 7_000,
            rows: { NEW: 5, RETRY: 0, DONE: 9, DEAD: 1 },
            blocked: 1,
            parked: 0,
            oldestDeadMs: 60_000,
          }),
      })
    }
    const all = await Promise.all(registers.map((register) => register.getMetricsAsJSON()))
    const values = await scrape(AggregatorRegistry.aggregate(all))
    const get = (name: string, labels = '') => values.get(`outbox_${name}{outbox="default"${labels}}`)
    equal(get('dispatch_dead_total'), 3)
    equal(get('poll_duration_seconds_count'), 2)
    equal(get('queue_cold_depth'), 6)
    equal(get('rows_held', ',right="lease"'), 8)
    equal(get('partitions_owned'), 256)
    equal(get('lag_oldest_seconds'), 7)
    equal(get('rows', ',status="DONE"'), 9)
    equal(get('keys_blocked'), 1)
    equal(get('dead_oldest_seconds'), 60)
    equal(get('poll_age_seconds'), 2)
    equal(get('store_outage'), 1)
    equal(get('breaker_open', ',destination="mail"'), 1)
  })
})

async function started(
  test: { after(end: () => unknown): void },
  options: object,
  mode: (typeof modes)[number] = 'multiNode',
) {
  const log: string[] = []
  const keep = (line: string) => void log.push(line)
  const outbox = await Outbox[mode]({
    store: memoryStore(),
    poller: { intervalMs: 5, busyIntervalMs: 5 },
    logger: { debug() {}, info() {}, warn: keep, error: keep },
    ...options,
  }).start()
  test.after(() => outbox.close())
  return { outbox, log }
}

function tracingThat(behaves: Behaviour): Record<keyof Tracing, Behaviour> {
  return { write: behaves, deliver: behaves, process: behaves, settle: behaves, tick: behaves }
}

function spansThat(behaves: Behaviour): () => object {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  return () => ({ headers: { traceparent }, run: behaves, end: behaves, claim: behaves })
}

function carrier(
  name: string,
  capture: () => unknown,
  restore: (value: string, run: () => unknown) => unknown = (_, run) => run(),
): ContextCarrier {
  return { name, capture, restore } as ContextCarrier
}

function without(from: object, name: string): object {
  return Object.fromEntries(
    Object.entries(Object.getOwnPropertyDescriptors(from)).flatMap(([key, { value }]) =>
      key === name ? [] : [[key, value]],
    ),
  )
}
