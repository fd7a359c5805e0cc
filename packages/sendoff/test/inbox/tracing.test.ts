import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { MessageRuns } from '../../src/consumers/message-runs.ts'
import type { IncomingMessage } from '../../src/consumers/incoming-message.ts'
import { Inbox } from '../../src/inbox/index.ts'
import { openTelemetryTracing } from '../../src/observe/opentelemetry/index.ts'
import type { Tracing } from '../../src/observe/tracing.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { until } from '../fixtures/outbox-fixture.ts'
import { api, linksOf, parentOf, recordTraces } from '../fixtures/trace-recording.ts'

const senderTrace = '4bf92f3577b34da6a3ce929d0e0e4736'
const senderSpan = '00f067aa0ba902b7'
const headers = { traceparent: `00-${senderTrace}-${senderSpan}-01` }

/** A tracing that knows no messages. */
const noSpans: Tracing = {
  write: () => undefined,
  deliver: () => undefined,
  settle: () => undefined,
  tick: () => undefined,
}

async function inboxWith(test: TestContext, tracing: Tracing, log: string[] = []) {
  const keep = (line: string): void => void log.push(line)
  const outbox = await Outbox.multiNode({
    store: memoryStore(),
    tracing,
    logger: { debug() {}, info() {}, warn: keep, error: keep },
  }).start()
  test.after(() => outbox.close())
  return { outbox, inbox: new Inbox({ outbox, consumer: 'billing' }) }
}

describe('the span of a message in an inbox', () => {
  it('links to the trace of the sender, and what the handler does is inside', async (test) => {
    const { tracer, spans } = recordTraces()
    const { outbox, inbox } = await inboxWith(test, openTelemetryTracing({ api, tracer }))
    const options = { headers, type: 'OrderPlaced' }
    await inbox.process('m-1', () => outbox.write('InvoiceIssued', {}), options)
    await inbox.process('m-1', () => {}, options)
    const [processed, again] = spans('process OrderPlaced')
    const [written] = spans('write InvoiceIssued')
    deepEqual(linksOf(processed!), [senderSpan])
    equal(parentOf(processed!), undefined)
    equal(parentOf(written!), processed!.spanContext().spanId)
    deepEqual(
      [processed, again].map((span) => span!.attributes['sendoff.outcome']),
      ['processed', 'duplicate'],
    )
    const { attributes, kind } = processed!
    equal(kind, api.SpanKind.CONSUMER)
    equal(attributes['messaging.message.id'], 'm-1')
    equal(attributes['messaging.consumer.group.name'], 'billing')
    equal(attributes['messaging.operation.type'], 'process')
  })

  it('is a part of the trace of the sender if the option says so', async (test) => {
    const { tracer, spans } = recordTraces()
    const { inbox } = await inboxWith(test, openTelemetryTracing({ api, tracer, deliveries: 'parent' }))
    await inbox.process('m-1', () => {}, { headers })
    const [processed] = spans('process billing')
    equal(parentOf(processed!), senderSpan)
    equal(processed!.spanContext().traceId, senderTrace)
  })

  it('has the error of a handler that failed', async (test) => {
    const { tracer, spans } = recordTraces()
    const { inbox } = await inboxWith(test, openTelemetryTracing({ api, tracer }))
    const fail = () => Promise.reject(new Error('no stock'))
    await rejects(inbox.process('m-1', fail, { headers }), /no stock/)
    const [processed] = spans('process billing')
    equal(processed!.status.code, api.SpanStatusCode.ERROR)
    match(processed!.status.message!, /no stock/)
    equal(processed!.attributes['sendoff.outcome'], 'failed')
  })

  it('is a child of an active span, as in a listener', async (test) => {
    const { tracer, spans } = recordTraces()
    const { outbox, inbox } = await inboxWith(test, openTelemetryTracing({ api, tracer }))
    outbox.on('Placed', async (event) => void (await inbox.process(event, () => {})))
    await tracer.startActiveSpan('request', async (span) => {
      await outbox.transaction(() => outbox.write('Placed', {}))
      span.end()
    })
    await until(() => spans('process Placed').length > 0 && spans('deliver Placed').length > 0)
    equal(parentOf(spans('process Placed')[0]!), spans('deliver Placed')[0]!.spanContext().spanId)
  })

  it('is missing if the sender does not record its trace, or has none', async (test) => {
    const { tracer, spans } = recordTraces()
    const { inbox } = await inboxWith(test, openTelemetryTracing({ api, tracer }))
    await inbox.process('m-1', () => {})
    await inbox.process('m-2', () => {}, { headers: { traceparent: 'nonsense' } })
    await inbox.process('m-3', () => {}, { headers: { traceparent: headers.traceparent.replace(/1$/, '0') } })
    equal(spans().length, 0)
  })

  it('changes nothing if the tracing throws', async (test) => {
    const log: string[] = []
    const broken: Tracing = {
      ...noSpans,
      process: () => {
        throw new Error('no tracer')
      },
    }
    const { inbox } = await inboxWith(test, broken, log)
    equal(await inbox.process('m-1', () => {}, { headers }), 'processed')
    equal((await inbox.accept({ id: 'm-2', type: 'Paid', payload: 1 })).outcome, 'accepted')
    equal(log.length, 2)
    match(log[0]!, /tracing failed.*no tracer/)
  })

  it('is not needed: a tracing may know only the spans of an outbox', async (test) => {
    const log: string[] = []
    const { inbox } = await inboxWith(test, noSpans, log)
    equal(await inbox.process('m-1', () => {}, { headers }), 'processed')
    deepEqual(log, [])
  })
})

describe('the span of an accepted message', () => {
  it('links to the trace of the sender, as does the delivery of its event', async (test) => {
    const { tracer, spans } = recordTraces()
    const { outbox, inbox } = await inboxWith(test, openTelemetryTracing({ api, tracer }))
    outbox.on('Paid', () => {})
    await inbox.accept({ id: 'm-1', type: 'Paid', payload: 1, headers })
    await until(() => spans('deliver Paid').length > 0)
    deepEqual(linksOf(spans('accept Paid')[0]!), [senderSpan])
    deepEqual(linksOf(spans('deliver Paid')[0]!), [senderSpan])
    equal(parentOf(spans('write Paid')[0]!), spans('accept Paid')[0]!.spanContext().spanId)
  })
})

describe('a consumer', () => {
  const message = (fields: Partial<IncomingMessage>): IncomingMessage => ({
    source: 'orders',
    headers: {},
    contentType: undefined,
    body: Buffer.from('{}'),
    key: null,
    ...fields,
  })

  it('continues the trace of a message, also that of a CloudEvent', async (test) => {
    const { tracer, spans } = recordTraces()
    const { inbox } = await inboxWith(test, openTelemetryTracing({ api, tracer }))
    const runs = MessageRuns.of('Test', { inbox, handler() {}, logger: false })
    await runs.run(message({ headers: { 'event-id': 'm-1', 'event-type': 'Plain', ...headers } }))
    const attributes = { specversion: '1.0', id: '1', source: 's', ...headers }
    const binary = Object.entries(attributes).map(([name, value]) => [`ce_${name}`, value] as const)
    await runs.run(message({ headers: { ...Object.fromEntries(binary), ce_type: 'Binary' } }))
    await runs.run(
      message({
        contentType: 'application/cloudevents+json',
        body: Buffer.from(JSON.stringify({ ...attributes, id: '2', type: 'Structured' })),
      }),
    )
    for (const type of ['Plain', 'Binary', 'Structured']) {
      deepEqual(spans(`process ${type}`).map(linksOf), [[senderSpan]], type)
    }
  })
})
