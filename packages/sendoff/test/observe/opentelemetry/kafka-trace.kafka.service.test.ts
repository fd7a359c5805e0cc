import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Consumer, Producer } from '@platformatic/kafka'
import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import { kafkaConsumer } from '../../../src/consumers/kafka/index.ts'
import { Inbox } from '../../../src/inbox/index.ts'
import { openTelemetryTracing } from '../../../src/observe/opentelemetry/index.ts'
import type { Tracing } from '../../../src/observe/tracing.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { kafkaPublisher } from '../../../src/publishers/kafka/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { until } from '../../fixtures/outbox-fixture.ts'
import { tracePicture } from '../../fixtures/trace-picture.ts'
import { api, linksOf, parentOf, recordTraces } from '../../fixtures/trace-recording.ts'
import { consumeTopic, makeTopic } from '../../publishers/kafka/kafka-topics.ts'

const url = process.env['KAFKA_URL']!

/** A service that writes an order for each request, and a relay of its events to Kafka. */
async function shop(test: TestContext, tracing: Tracing, topic: string) {
  const store = memoryStore()
  store.close = async () => {}
  const writer = await Outbox.writerOnly({ store, tracing, logger: false }).start()
  const relay = await Outbox.multiNode({ store, tracing, logger: false, workerCount: 1 }).start()
  const producer = new Producer({ clientId: 'shop', bootstrapBrokers: bootstrapBrokers(url), retries: 5 })
  test.after(async () => {
    await writer.close()
    await relay.close()
    await producer.close()
  })
  const publish = () =>
    relay.on([{ name: 'OrderPlaced' }], kafkaPublisher({ producer, topic }), { maxBatchSize: 500 })
  return { writer, relay, publish }
}

/** A service that consumes the orders, and issues an invoice for each. */
async function billing(test: TestContext, tracing: Tracing, tracer: api.Tracer, topic: string) {
  const outbox = await Outbox.writerOnly({ store: memoryStore(), tracing, logger: false }).start()
  const client = new Consumer({
    clientId: 'billing',
    groupId: `billing-${topic}`,
    bootstrapBrokers: bootstrapBrokers(url),
    maxWaitTime: 50,
    retries: 5,
  })
  const consumer = kafkaConsumer({
    consumer: client,
    topics: [topic],
    inbox: new Inbox({ outbox, consumer: 'billing' }),
    logger: false,
    async handler() {
      await tracer.startActiveSpan('issue invoice', async (span) => {
        await outbox.write('InvoiceIssued', { orderId: 'o-1' })
        span.end()
      })
    },
  })
  test.after(async () => {
    await consumer.close()
    await client.close(true)
    await outbox.close()
  })
  return consumer
}

describe('a trace', () => {
  it('leads from an HTTP request through the outbox, Kafka and the inbox to the consumer', async (test) => {
    const { tracer, spans } = recordTraces()
    const topic = await makeTopic(url, `trace-${process.pid}`)
    const tracing = openTelemetryTracing({ api, tracer })
    const { writer, relay, publish } = await shop(test, tracing, topic)
    publish()
    const server = createServer((request, response) => {
      const caller = api.propagation.extract(api.ROOT_CONTEXT, request.headers)
      void tracer.startActiveSpan('POST /orders', { kind: api.SpanKind.SERVER }, caller, async (span) => {
        await writer.transaction(() => writer.write('OrderPlaced', { orderId: 'o-1' }))
        response.end()
        span.end()
      })
    }).listen(0, '127.0.0.1')
    test.after(() => server.close())
    await once(server, 'listening')
    const consumer = await billing(test, tracing, tracer, topic)
    await consumer.start()
    await tracer.startActiveSpan('checkout', { kind: api.SpanKind.CLIENT }, async (span) => {
      const headers: Record<string, string> = {}
      api.propagation.inject(api.context.active(), headers)
      await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { method: 'POST', headers })
      span.end()
    })
    await relay.drain()
    await until(() => spans('settle').length > 0 && spans('process OrderPlaced').length > 0)

    const one = (name: string) => {
      equal(spans(name).length, 1, name)
      return spans(name)[0]!
    }
    const [checkout, request, write] = [one('checkout'), one('POST /orders'), one('write OrderPlaced')]
    const [deliver, settle, processed] = [
      one('deliver OrderPlaced'),
      one('settle'),
      one('process OrderPlaced'),
    ]
    const [handled, next] = [one('issue invoice'), one('write InvoiceIssued')]
    const idOf = (span: typeof write) => span.spanContext().spanId
    const traceOf = (span: typeof write) => span.spanContext().traceId
    equal(parentOf(request), idOf(checkout))
    equal(parentOf(write), idOf(request))
    deepEqual(linksOf(deliver), [idOf(write)])
    deepEqual(linksOf(settle), [idOf(deliver)])
    deepEqual(linksOf(processed), [idOf(write)])
    equal(parentOf(handled), idOf(processed))
    equal(parentOf(next), idOf(handled))
    deepEqual([request, write].map(traceOf), [traceOf(checkout), traceOf(checkout)])
    deepEqual([handled, next].map(traceOf), [traceOf(processed), traceOf(processed)])

    const picture = tracePicture(spans())
    const file = join(import.meta.dirname, '../../../../../docs/pictures/trace.svg')
    if (process.env['DRAW_TRACE'] !== undefined) writeFileSync(file, picture)
    const namesIn = (svg: string) => [...svg.matchAll(/<text[^>]*>(?:└ )?([^<]+)</g)].map(([, name]) => name)
    deepEqual(namesIn(readFileSync(file, 'utf8')).toSorted(), namesIn(picture).toSorted())
  })

  it('of each of 500 requests ends at its own message, although they are relayed as one batch', async (test) => {
    const { tracer, spans } = recordTraces()
    const topic = await makeTopic(url, `trace-500-${process.pid}`)
    const tracing = openTelemetryTracing({ api, tracer, deliveries: 'parent' })
    const { writer, relay, publish } = await shop(test, tracing, topic)
    const requests = new Map<string, string>()
    await writer.transaction(async () => {
      for (let request = 0; request < 500; request++) {
        await tracer.startActiveSpan('request', async (span) => {
          const id = await writer.write('OrderPlaced', { request })
          requests.set(id, span.spanContext().traceId)
          span.end()
        })
      }
    })
    publish()
    await relay.drain()
    const messages = await consumeTopic(url, topic)
    const arrived = new Map(
      messages.map(({ headers }) => [headers['event-id'], headers['traceparent']!.split('-')[1]!]),
    )
    deepEqual(arrived, requests)
    equal(new Set(arrived.values()).size, 500)
    const batches = new Set(
      spans('deliver OrderPlaced').map((span) => span.attributes['messaging.batch.message_count']),
    )
    ok(Math.max(...([...batches] as number[])) > 128, `batches of ${[...batches].join(', ')}`)
  })
})
