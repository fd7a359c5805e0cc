import { deepEqual, equal, match, notEqual, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { describeError } from '../../src/describe-error.ts'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { AggregateType } from '../../src/event/event-type.ts'
import { JsonCodec } from '../../src/event/json-codec.ts'
import { partitionOf } from '../../src/store/partition-of.ts'
import { encodeEvent } from '../../src/write/encode-event.ts'

const minimal = { eventType: 'OrderPlaced', payloadJson: '{}' }

describe('an envelope', () => {
  it('has the defaults of the specification', () => {
    const before = Date.now()
    const event = EventEnvelope.of(minimal)
    match(event.eventId, /^[0-9A-HJKMNP-TV-Z]{26}$/)
    equal(event.eventType, 'OrderPlaced')
    equal(event.aggregateType, AggregateType.GLOBAL.name)
    equal(event.aggregateType, '__GLOBAL__')
    deepEqual(
      [event.aggregateId, event.tenantId, event.orderingKey, event.availableAt],
      [null, null, null, undefined],
    )
    deepEqual(event.headers, {})
    ok(event.occurredAt.getTime() >= before)
    equal(event.isDelayed(), false)
  })

  it('takes event and aggregate types as names or as objects with a name', () => {
    const event = EventEnvelope.of({ ...minimal, eventType: { name: 'A' }, aggregateType: { name: 'B' } })
    deepEqual([event.eventType, event.aggregateType], ['A', 'B'])
    equal(EventEnvelope.ofJson({ name: 'C' }, '1').eventType, 'C')
  })

  it('uses its aggregate as the ordering key if none is given', () => {
    const aggregate = { ...minimal, aggregateType: 'Order', aggregateId: '7' }
    equal(EventEnvelope.of(aggregate).orderingKey, 'Order:7')
    equal(EventEnvelope.of({ ...aggregate, orderingKey: 'mine' }).orderingKey, 'mine')
  })

  it('cannot be changed', () => {
    const headers: Record<string, string> = { trace: 'a' }
    const bytes = new Uint8Array([1, 2, 3])
    const event = EventEnvelope.of({ eventType: 'A', payloadBytes: bytes, headers })
    headers['trace'] = 'b'
    bytes[0] = 9
    event.payloadBytes[0] = 9
    ;(event.payload as Uint8Array)[1] = 9

    equal(event.headers['trace'], 'a')
    deepEqual([...event.payloadBytes], [1, 2, 3])
    throws(() => ((event.headers as Record<string, string>)['trace'] = 'c'), TypeError)
    throws(() => ((event as { eventType: string }).eventType = 'B'), TypeError)
    event.occurredAt.setTime(0)
    notEqual(event.occurredAt.getTime(), 0)
  })

  it('copies a Buffer as well', async () => {
    const buffer = Buffer.from([1, 2, 3])
    const events = [
      EventEnvelope.of({ eventType: 'A', payloadBytes: buffer }),
      await encodeEvent('A', buffer, {}, JsonCodec.getDefault()),
    ]
    buffer[0] = 9
    for (const event of events) deepEqual([...event.payloadBytes], [1, 2, 3])
  })

  it('keeps JSON byte for byte and parses it on demand', () => {
    const json = '{ "b": 12345678901234567890, "a":"\\u00e9" }'
    const event = EventEnvelope.ofJson('A', json)
    equal(event.payloadJson, json)
    deepEqual(event.payload, {
      b: 12345678901234567890n.toString().length > 0 ? 12345678901234567000 : 0,
      a: 'é',
    })
    deepEqual(event.payloadBytes, new TextEncoder().encode(json))
    equal(event.toRow(false).payload, json)
  })

  it('resolves a delay from the time it occurred, and lets the database count from the insert', () => {
    const occurredAt = new Date('2026-01-01T00:00:00Z')
    const event = EventEnvelope.of({ ...minimal, occurredAt, deliverAfterMs: 60_000 })
    deepEqual(event.availableAt, new Date('2026-01-01T00:01:00Z'))
    equal(event.isDelayed(), true)
    deepEqual(event.toRow(false).due, { inMs: 60_000 })

    const at = new Date('2026-01-02T00:00:00Z')
    deepEqual(EventEnvelope.of({ ...minimal, occurredAt, availableAt: at }).toRow(false).due, {
      at: at.getTime(),
    })
    equal(EventEnvelope.of({ ...minimal, occurredAt, availableAt: occurredAt }).isDelayed(), false)
    equal(EventEnvelope.of({ ...minimal, availableAt: new Date() }).isDelayed(), false)
  })

  it('does not show its payload when printed', () => {
    const shown = inspect(EventEnvelope.ofJson('A', '{"iban":"secret"}'))
    match(shown, /eventType: 'A'/)
    equal(shown.includes('secret'), false)
  })

  it('does not repeat an unreadable payload or header in the error or its cause', () => {
    const stored = (text: { payload?: string; headers?: string }) =>
      EventEnvelope.stored(
        {
          ...EventEnvelope.of(minimal).toRow(false),
          seq: 1,
          attempts: 0,
          deliveries: 1,
          losses: 0,
          availableAt: 0,
          createdAt: 0,
          lockedBy: null,
          ...text,
        },
        JsonCodec.getDefault(),
      )
    // The parser itself quotes this text.
    const secret = '{"iban": secret}'
    throws(() => JSON.parse(secret), /secret/)
    for (const read of [() => stored({ payload: secret }).payload, () => stored({ headers: secret })]) {
      throws(read, (error: Error) => {
        equal(error.name, 'PayloadParseError')
        equal(describeError(error).includes('secret'), false)
        return true
      })
    }
  })

  it('uses the codec that it was made with', () => {
    const shouting: JsonCodec = { toJson: JSON.stringify, fromJson: (json) => json.toUpperCase() }
    equal(EventEnvelope.of({ ...minimal, payloadJson: '"a"' }, shouting).payload, '"A"')
  })

  const rejected: Record<string, [Record<string, unknown>, RegExp, string?]> = {
    'no type': [{ eventType: '' }, /needs a non-empty string as eventType/],
    'a type that is too long': [{ eventType: 'x'.repeat(129) }, /eventType of 129 characters; at most 128/],
    'an aggregate type that is too long': [{ aggregateType: 'x'.repeat(65) }, /aggregateType of 65/],
    'an aggregate id that is too long': [{ aggregateId: 'x'.repeat(129) }, /aggregateId of 129/],
    'a tenant id that is too long': [{ tenantId: 'x'.repeat(65) }, /tenantId of 65/],
    'an event id that is too long': [{ eventId: 'x'.repeat(37) }, /eventId of 37 characters; at most 36/],
    'a number as id': [{ aggregateId: 7 }, /non-empty string as aggregateId, not 7/],
    'a NUL character': [{ tenantId: 'a\0b' }, /NUL character/],
    'half a surrogate pair': [{ tenantId: '\ud800' }, /surrogate pair/],
    'no payload': [{ payloadJson: undefined }, /either payloadJson or payloadBytes/],
    'two payloads': [{ payloadBytes: new Uint8Array() }, /either payloadJson or payloadBytes/],
    'text that is not JSON': [{ payloadJson: '{half' }, /not valid JSON/],
    'a date that is none': [{ occurredAt: new Date('never') }, /valid Date as occurredAt/],
    'a time as text': [{ availableAt: '2026-01-01' }, /valid Date as availableAt/],
    'null as a time': [{ availableAt: null }, /valid Date as availableAt, not null/],
    'null as a delay': [{ deliverAfterMs: null }, /deliverAfterMs above 0, not null/],
    'no delay': [{ deliverAfterMs: 0 }, /deliverAfterMs above 0, not 0/],
    'a negative delay': [{ deliverAfterMs: -5 }, /deliverAfterMs above 0, not -5/],
    'a time and a delay': [
      { availableAt: new Date(), deliverAfterMs: 5 },
      /both availableAt and deliverAfterMs/,
    ],
    'due before it occurred': [
      { occurredAt: new Date(9), availableAt: new Date(8) },
      /availableAt before its occurredAt/,
    ],
    'a delay beyond a hundred years': [{ deliverAfterMs: 1e300 }, /deliverAfterMs of 1e\+300; at most/],
    'a time beyond a hundred years': [
      { availableAt: new Date('2300-01-01') },
      /more than a hundred years away/,
    ],
    'due in the past': [{ availableAt: new Date(Date.now() - 60_000) }, /availableAt before its occurredAt/],
    'headers that are no object': [{ headers: ['a'] }, /object of strings as headers, not an array/],
    'a header that is no string': [{ headers: { retries: 3 } }, /string as header "retries", not 3/],
    'headers without end': [{ headers: { a: 'x'.repeat(65_536) } }, /more than 65536 bytes of headers/],
    'a misspelt field': [{ agregateId: '7' }, /no option "agregateId"/, 'OUTBOX_UNKNOWN_OPTION'],
    'a payload over 1 MiB': [
      { payloadJson: JSON.stringify('ü'.repeat(524_288)) },
      /has 1048578 bytes; at most 1048576/,
      'OUTBOX_PAYLOAD_TOO_LARGE',
    ],
  }
  for (const [name, [fields, message, code = 'OUTBOX_INVALID_EVENT']] of Object.entries(rejected)) {
    it(`is refused with ${name}`, () => {
      throws(() => EventEnvelope.of({ ...minimal, ...fields }), {
        name: 'OutboxError',
        code,
        message,
      })
    })
  }

  it('takes a payload of just 1 MiB', () => {
    equal(EventEnvelope.ofJson('A', `"${'x'.repeat(1_048_574)}"`).payloadBytes.length, 1_048_576)
  })
})

describe('the JSON codec', () => {
  it('parses null, undefined, blank text and JSON null as an empty map', () => {
    for (const json of [null, undefined, '', '  ', 'null', ' null '])
      deepEqual(JsonCodec.parseStringMap(json), {})
    deepEqual(JsonCodec.parseStringMap('{"a":"b"}'), { a: 'b' })
    throws(() => JsonCodec.parseStringMap('{"a":1}'), TypeError)
    throws(() => JsonCodec.parseStringMap('[]'), TypeError)
  })

  it('can be replaced for the whole process, and restored', (test) => {
    test.after(() => JsonCodec.setDefault())
    const before = JsonCodec.getDefault()
    const mine: JsonCodec = { toJson: () => '"mine"', fromJson: () => 'mine' }
    JsonCodec.setDefault(mine)
    equal(EventEnvelope.ofJson('A', '"theirs"').payload, 'mine')
    JsonCodec.setDefault()
    equal(JsonCodec.getDefault(), before)
  })
})

describe('the partition of an ordering key', () => {
  it('is the first byte of its SHA-256, in every version for ever', () => {
    deepEqual(['Order:7', '', 'é', 'Order:8'].map(partitionOf), [217, 227, 74, 88])
  })
})
