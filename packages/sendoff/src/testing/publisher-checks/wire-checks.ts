import { deepEqual, equal } from 'node:assert/strict'
import type { PublisherCheck } from '../publisher-check.ts'
import { publishAll, sampleEvent } from './publish-steps.ts'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

/** Checks of the form of a message. */
export const wireChecks: readonly PublisherCheck[] = [
  {
    name: 'wire: a message has the stored payload, the fields of the event, and its headers',
    async run(context) {
      const { destination } = context
      const event = sampleEvent(1, {
        payloadJson: '{ "total": 1.00, "name": "Zoë" }',
        aggregateId: 'check-1',
        tenantId: 'tenant-1',
        headers: { traceparent, name: 'Zoë 100%' },
      })
      await publishAll(await context.publisher({ destination, headers: { more: 'yes' } }), [event])

      const [message] = await context.stored(destination)
      equal(Buffer.from(message!.body).toString(), '{ "total": 1.00, "name": "Zoë" }')
      equal(message!.contentType, 'application/json')
      deepEqual(picked(message!.headers, Object.keys(event.headers)), {
        traceparent,
        name: context.encodesHeaders ? 'Zo%C3%AB%20100%25' : 'Zoë 100%',
      })
      deepEqual(picked(message!.headers, ['event-id', 'event-type', 'aggregate-type', 'more']), {
        'event-id': event.eventId,
        'event-type': 'Checked',
        'aggregate-type': 'Check',
        more: 'yes',
      })
      deepEqual(picked(message!.headers, ['aggregate-id', 'tenant-id', 'occurred-at']), {
        'aggregate-id': 'check-1',
        'tenant-id': 'tenant-1',
        'occurred-at': event.occurredAt.toISOString(),
      })
    },
  },
  {
    name: 'wire: bytes arrive unchanged',
    async run(context) {
      const { destination } = context
      const bytes = Uint8Array.from({ length: 256 }, (_, value) => value)
      const event = sampleEvent(1, { payloadBytes: bytes, contentType: 'image/png' })
      await publishAll(await context.publisher({ destination }), [event])

      const [message] = await context.stored(destination)
      deepEqual(new Uint8Array(message!.body), bytes)
      equal(message!.contentType, 'image/png')
    },
  },
  {
    name: 'wire: a header of an event cannot replace its id, and an option can replace its body',
    async run(context) {
      const { destination } = context
      const event = sampleEvent(1, { headers: { 'event-id': 'another' } })
      const publisher = await context.publisher({ destination, body: ({ eventType }) => `"${eventType}"` })
      await publishAll(publisher, [event])

      const [message] = await context.stored(destination)
      equal(message!.headers['event-id'], event.eventId)
      equal(Buffer.from(message!.body).toString(), '"Checked"')
    },
  },
  {
    name: 'wire: a binary CloudEvent has its attributes in headers',
    async run(context) {
      const { destination, attributePrefix } = context
      const event = sampleEvent(1, { aggregateId: 'check-1', headers: { traceparent } })
      const cloudEvents = { mode: 'binary', source: '/checks', type: 'org.example.checked' } as const
      await publishAll(await context.publisher({ destination, cloudEvents }), [event])

      const [message] = await context.stored(destination)
      const attributes = Object.entries(message!.headers)
        .filter(([name]) => name.startsWith(attributePrefix))
        .map(([name, value]) => [name.slice(attributePrefix.length), value])
      deepEqual(Object.fromEntries(attributes), {
        specversion: '1.0',
        id: event.eventId,
        source: '/checks',
        type: 'org.example.checked',
        time: event.occurredAt.toISOString(),
        subject: 'check-1',
        partitionkey: 'Check:check-1',
        traceparent,
      })
      equal(message!.headers['event-id'], event.eventId)
      equal(message!.headers['traceparent'], traceparent)
      equal(message!.contentType, 'application/json')
      equal(Buffer.from(message!.body).toString(), '{"number":1}')
    },
  },
  {
    name: 'wire: a structured CloudEvent is one JSON document, with bytes in base64',
    async run(context) {
      const { destination } = context
      const json = sampleEvent(1, { payloadJson: '{"total":12345678901234567890}' })
      const bytes = sampleEvent(2, { payloadBytes: new Uint8Array([0, 255]) })
      const cloudEvents = { mode: 'structured', source: () => '/checks' } as const
      await publishAll(await context.publisher({ destination, cloudEvents }), [json, bytes])

      const messages = await context.stored(destination)
      const bodies = messages.map(({ body }) => Buffer.from(body).toString())
      const first = bodies.find((body) => body.includes(json.eventId))!
      const second = bodies.find((body) => body.includes(bytes.eventId))!
      deepEqual(
        messages.map(({ contentType }) => contentType),
        Array(2).fill('application/cloudevents+json'),
      )
      equal(first.endsWith('"data":{"total":12345678901234567890}}'), true, first)
      deepEqual(JSON.parse(second), {
        specversion: '1.0',
        id: bytes.eventId,
        source: '/checks',
        type: 'Checked',
        time: bytes.occurredAt.toISOString(),
        datacontenttype: 'application/octet-stream',
        data_base64: 'AP8=',
      })
    },
  },
]

function picked(
  headers: Readonly<Record<string, string>>,
  names: readonly string[],
): Record<string, string | undefined> {
  return Object.fromEntries(names.map((name) => [name, headers[name]]))
}
