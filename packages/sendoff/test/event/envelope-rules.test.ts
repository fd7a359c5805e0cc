import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { JsonCodec } from '../../src/event/json-codec.ts'
import { encodeEvent } from '../../src/write/encode-event.ts'

const codec = JsonCodec.getDefault()
const limits = {
  eventId: 36,
  aggregateType: 64,
  aggregateId: 128,
  tenantId: 64,
  orderingKey: 255,
  idempotencyKey: 200,
}
// Text that every store can keep: without NUL and half surrogate pairs.
const storable = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 300 })
  .filter((text) => !text.includes('\0'))

describe('envelope rules', () => {
  it('a field is kept as it is up to its greatest length, and refused beyond', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.entries(limits)), storable, ([name, limit], value) => {
        const make = () => EventEnvelope.of({ eventType: 'T', payloadJson: '1', [name]: value })
        if (value.length > limit) throws(make, { code: 'OUTBOX_INVALID_EVENT' })
        else equal((make() as unknown as Record<string, unknown>)[name], value)
      }),
    )
  })

  it('any JSON value comes back as it was written', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const event = await encodeEvent('T', value, {}, codec)
        equal(event.payloadJson, JSON.stringify(value))
        deepEqual(event.payload, JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('any bytes come back as they were written, and cannot be changed from outside', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1 }), async (bytes) => {
        const event = await encodeEvent('T', bytes, {}, codec)
        const before = [...bytes]
        bytes.fill(bytes[0]! + 1)
        event.payloadBytes.fill(0)
        deepEqual([...event.payloadBytes], before)
      }),
    )
  })

  it('headers are kept as they are', () => {
    fc.assert(
      fc.property(fc.dictionary(storable, storable), (headers) => {
        deepEqual(
          { ...EventEnvelope.of({ eventType: 'T', payloadJson: '1', headers }).headers },
          { ...headers },
        )
      }),
    )
  })

  it('an event is delayed exactly when it is due after it occurred', () => {
    const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })
    fc.assert(
      fc.property(time, fc.integer({ min: 0, max: 10 ** 9 }), (occurredAt, laterMs) => {
        const availableAt = new Date(occurredAt.getTime() + laterMs)
        const event = EventEnvelope.of({ eventType: 'T', payloadJson: '1', occurredAt, availableAt })
        equal(event.isDelayed(), laterMs > 0)
        deepEqual(event.availableAt, availableAt)
        deepEqual(event.toRow(false).due, { at: availableAt.getTime() })

        const delayed = () =>
          EventEnvelope.of({ eventType: 'T', payloadJson: '1', occurredAt, deliverAfterMs: laterMs })
        if (laterMs === 0) throws(delayed, { code: 'OUTBOX_INVALID_EVENT' })
        else {
          deepEqual(delayed().availableAt, availableAt)
          ok(delayed().isDelayed())
        }
      }),
    )
  })
})
