import { deepEqual, equal, match, notEqual, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ParentBasedSampler, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import { openTelemetryTracing, sampledByLink } from '../../../src/observe/opentelemetry/index.ts'
import type { Tracing } from '../../../src/observe/tracing.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { fixedDelay } from '../../../src/retry/fixed-delay.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { onEveryStore, startOutbox, until, writeTested } from '../../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../../fixtures/recording-listener.ts'
import { api, linksOf, parentOf, recordTraces } from '../../fixtures/trace-recording.ts'

const modes = ['singleNode', 'multiNode', 'singleWriter', 'ordered', 'partitioned'] as const

for (const deliveries of ['link', 'parent'] as const) {
  describe(`a delivery continues the trace of its write, by ${deliveries}`, () => {
    for (const mode of modes) {
      it(`in ${mode}`, async (test) => {
        const { tracer, spans } = recordTraces()
        const tracing = openTelemetryTracing({ api, tracer, deliveries })
        const store = memoryStore()
        store.close = async () => {}
        const outbox = await Outbox[mode]({
          store,
          tracing,
          logger: false,
        }).start()
        test.after(() => outbox.close())
        outbox.on('Tested', async () => {
          await Promise.resolve()
          tracer.startSpan('inside').end()
        })
        const writer = await Outbox.writerOnly({ store, tracing, logger: false }).start()
        test.after(() => writer.close())
        await tracer.startActiveSpan('request', async (request) => {
          await writer.transaction(() => writer.write('Tested', 1))
          request.end()
        })
        await until(async () => {
          await outbox.poll()
          return spans('settle').length > 0 && spans('tick').length > 0
        })
        const [request] = spans('request')
        const [write] = spans('write Tested')
        const [deliver] = spans('deliver Tested')
        const [inside] = spans('inside')
        const [claim] = spans('claim')
        const [tick] = spans('tick')
        const [settle] = spans('settle')
        equal(parentOf(write!), request!.spanContext().spanId)
        equal(parentOf(inside!), deliver!.spanContext().spanId)
        equal(parentOf(claim!), tick!.spanContext().spanId)
        deepEqual(linksOf(settle!), [deliver!.spanContext().spanId])
        if (deliveries === 'parent') {
          equal(parentOf(deliver!), write!.spanContext().spanId)
          equal(deliver!.spanContext().traceId, request!.spanContext().traceId)
        } else {
          equal(parentOf(deliver!), undefined)
          deepEqual(linksOf(deliver!), [write!.spanContext().spanId])
          notEqual(deliver!.spanContext().traceId, request!.spanContext().traceId)
        }
        const { attributes } = deliver!
        deepEqual(
          [
            attributes['messaging.system'],
            attributes['messaging.operation.type'],
            attributes['messaging.destination.name'],
          ],
          ['sendoff', 'process', 'Tested'],
        )
        deepEqual([attributes['sendoff.attempt'], attributes['sendoff.outcome']], [1, 'done'])
        deepEqual([write!.kind, deliver!.kind, settle!.kind], [3, 4, 2])
      })
    }
  })
}

onEveryStore(
  '500 requests in one batch: each event has the trace of its own request',
  async (test, open, mode) => {
    const { tracer, spans } = recordTraces()
    const tracing = openTelemetryTracing({ api, tracer, deliveries: 'parent' })
    const sent = new Map<unknown, string>()
    const inside = new Map<unknown, string>()
    let largest = 0
    const { outbox } = await startOutbox(test, open(), { mode, tracing, workerCount: 1 })
    const writer = await Outbox.writerOnly<any, any>({ store: open(), tracing, logger: false }).start()
    test.after(() => writer.close())
    const traces = new Map<unknown, string>()
    await writer.transaction(async () => {
      for (let request = 0; request < 500; request++) {
        await tracer.startActiveSpan('request', async (span) => {
          traces.set(request, span.spanContext().traceId)
          await writer.write('Relayed', request)
          span.end()
        })
      }
    })
    outbox.on(
      [{ name: 'Relayed' }],
      {
        onEvents(events, { deliveries }) {
          largest = Math.max(largest, events.length)
          for (const [index, event] of events.entries()) {
            sent.set(event.payload, event.headers.traceparent!.split('-')[1]!)
            deliveries[index]!.run(() =>
              inside.set(event.payload, api.trace.getActiveSpan()!.spanContext().traceId),
            )
          }
        },
      },
      { maxBatchSize: 500 },
    )
    await outbox.drain()
    deepEqual(sent, traces)
    deepEqual(inside, traces)
    ok(largest > 128, `a batch of ${largest}`)
    equal(spans('deliver Relayed').length, 500)
    deepEqual(
      new Set(spans('deliver Relayed').map((span) => span.spanContext().traceId)),
      new Set(traces.values()),
    )
  },
)

describe('sampling', () => {
  it('a request that is not recorded makes no spans, and says so to consumers', async (test) => {
    const { tracer, spans } = recordTraces(new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0) }))
    const tracing = openTelemetryTracing({ api, tracer })
    const headers: string[] = []
    const outbox = await Outbox.multiNode({ store: memoryStore(), tracing, logger: false }).start()
    test.after(() => outbox.close())
    outbox.on('Tested', (event) => void headers.push(event.headers.traceparent!))
    await outbox.transaction(() => outbox.write('Tested', 1))
    await outbox.drain()
    equal(spans().length, 0)
    match(headers[0]!, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  })

  const span = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331'
  for (const [headers, isRecorded] of [
    [`{"traceparent":"${span}-01"}`, true],
    [`{"traceparent":"${span}-00"}`, false],
    [`{"traceparent":"${span}-02"}`, false],
    [`{"traceparent":"${span}-03","tracestate":"a=1"}`, true],
    [`{ "traceparent" :\n\t"${span}-01" }`, true],
    [`{"traceparent": "${span}-00"}`, false],
    [`{"a": "traceparent", "traceparent": "${span}-01"}`, true],
    [`{"a":"traceparent","traceparent":"${span}-00"}`, false],
    [`{"a":"traceparent"}`, false],
    [String.raw`{"a":"\"traceparent\":\"${span}-01","traceparent":"${span}-00"}`, false],
    [`{"x-traceparent":"${span}-01"}`, false],
    [`{"traceparent":"cc${span.slice(2)}-01-of the future"}`, true],
    [`{"traceparent":""}`, false],
    [`{"traceparent":"${'1'.repeat(55)}"}`, false],
    [`{"traceparent":"${span}-0`, false],
    [`{"traceparent":1}`, false],
    [`{"traceparent"`, false],
  ] as const) {
    it(`of a delivery with the headers ${headers}`, () => {
      const { tracer } = recordTraces()
      const delivery = { eventId: 'e', eventType: 'Tested', destination: '', attempt: 1, batchSize: 1 }
      const span = openTelemetryTracing({ api, tracer }).deliver({ ...delivery, headers })
      equal(span !== undefined, isRecorded)
    })
  }

  it('by link, every delivery of a recorded request is recorded, and of no other', async (test) => {
    const ratio = new TraceIdRatioBasedSampler(0.5)
    const { tracer, spans } = recordTraces(new ParentBasedSampler({ root: sampledByLink(ratio) }))
    const tracing = openTelemetryTracing({ api, tracer })
    const outbox = await Outbox.multiNode({ store: memoryStore(), tracing, logger: false }).start()
    test.after(() => outbox.close())
    outbox.on('Tested', () => {})
    for (let request = 0; request < 100; request++) {
      await outbox.transaction(() => outbox.write('Tested', request))
    }
    await outbox.drain()
    const written = spans('write Tested').map((span) => span.spanContext().spanId)
    ok(written.length > 10 && written.length < 90, `${written.length} of 100`)
    deepEqual(spans('deliver Tested').flatMap(linksOf).toSorted(), written.toSorted())
  })
})

describe('tracing', () => {
  it('shows failed attempts', async (test) => {
    const { tracer, spans } = recordTraces()
    let calls = 0
    const listener = new RecordingListener(() => {
      if (++calls === 1) throw new TypeError('not yet')
    })
    const options = { tracing: openTelemetryTracing({ api, tracer }), listener, retryPolicy: fixedDelay(1) }
    const { outbox, metrics } = await startOutbox(test, memoryStore(), options)
    await writeTested(outbox, 1)
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    const [first, second] = spans('deliver Tested')
    deepEqual([first!.attributes['sendoff.attempt'], second!.attributes['sendoff.attempt']], [1, 2])
    deepEqual([first!.status.code, second!.status.code], [2, 0])
    match(first!.status.message!, /TypeError: not yet/)
  })

  it('needs no propagator', async (test) => {
    const { tracer, spans } = recordTraces()
    const propagation = { inject() {}, extract: (context: api.Context) => context }
    const tracing = openTelemetryTracing({ api: { ...api, propagation }, tracer })
    const outbox = await Outbox.multiNode({ store: memoryStore(), tracing, logger: false }).start()
    test.after(() => outbox.close())
    outbox.on('Tested', () => {})
    await outbox.transaction(() => outbox.write('Tested', 1))
    await outbox.drain()
    deepEqual(linksOf(spans('deliver Tested')[0]!), [spans('write Tested')[0]!.spanContext().spanId])
  })

  it('checks its options', () => {
    throws(() => openTelemetryTracing({ api: {} as never }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => openTelemetryTracing({ api, deliveries: 'child' as never }), {
      code: 'OUTBOX_INVALID_OPTION',
    })
  })
})

const fail = () => {
  throw new Error('plugged in badly')
}
const badSpan = { headers: {}, run: fail, end: fail, claim: fail }
for (const [name, made] of [
  ['that throws', fail],
  ['whose spans throw', () => badSpan],
  ['whose spans run nothing', () => ({ ...badSpan, run: () => undefined as never })],
  ['that has no spans', () => undefined],
] as const) {
  onEveryStore(`tracing ${name} does no harm`, async (test, open, mode) => {
    const tracing = { write: made, deliver: made, settle: made, tick: made } as object as Tracing
    const { outbox, listener, log } = await startOutbox(test, open(), { mode, tracing })
    const writer = await Outbox.writerOnly<any, any>({ store: open(), logger: false }).start()
    test.after(() => writer.close())
    await outbox.transaction(() => outbox.write('Tested', 1, { headers: { a: 'b' } }))
    await writer.transaction(() => writer.write('Tested', 2, { headers: { a: 'b' } }))
    await outbox.drain()
    deepEqual(listener.payloads.toSorted(), [1, 2])
    if (name !== 'that has no spans') match(log.join('\n'), /The tracing failed\. Error: plugged in badly/)
  })
}
