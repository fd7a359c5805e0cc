import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { defineEvent } from '../../src/event/event-type.ts'
import { versionOf } from '../../src/event/event-versions.ts'
import { JsonCodec } from '../../src/event/json-codec.ts'
import { encodeEvent } from '../../src/write/encode-event.ts'

const same = (payload: unknown) => payload
const define = defineEvent as (name: string, definition: object) => ReturnType<typeof defineEvent>
const written = (definition: object, fields = {}) =>
  encodeEvent(define('Placed', definition), {}, fields, JsonCodec.getDefault()) as EventEnvelope

describe('a definition with versions', () => {
  it('refuses a version that is no whole number of at least 1', () => {
    for (const version of [0, -1, 1.5, Number.NaN, Infinity, '2', null]) {
      throws(() => define('Placed', { version }), {
        code: 'OUTBOX_INVALID_OPTION',
        message: /Option "version" of event "Placed" must be a whole number of at least 1/,
      })
    }
  })

  it('refuses steps that are missing, too many or no functions', () => {
    const refused: readonly (readonly [object, RegExp])[] = [
      [{ version: 2 }, /"upgrade" of event "Placed" needs a function for version 1/],
      [{ version: 3, upgrade: { 2: same } }, /needs a function for version 1/],
      [{ version: 4, upgrade: { 1: same, 3: same } }, /needs a function for version 2/],
      [{ version: 2, upgrade: { 1: 'same' } }, /needs a function for version 1.*not a string/],
      [{ version: 2, upgrade: { 1: same, 2: same } }, /a step from "2".*below 2/],
      [{ version: 2, upgrade: { 1: same, first: same } }, /a step from "first"/],
      [{ upgrade: { 1: same } }, /a step from "1".*below 1/],
      [{ version: 2, upgrade: 7 }, /must be an object/],
      [{ version: 2, upgrade: null }, /must be an object/],
    ]
    for (const [definition, message] of refused) {
      throws(() => define('Placed', definition), { code: 'OUTBOX_INVALID_OPTION', message })
    }
  })

  it('refuses names that no event can be stored under', () => {
    throws(() => define('x'.repeat(129), {}), {
      code: 'OUTBOX_INVALID_OPTION',
      message: /has a eventType of 129 characters; at most 128 are stored/,
    })
    throws(() => define('Placed', { aggregateType: 'x'.repeat(65) }), {
      code: 'OUTBOX_INVALID_OPTION',
      message: /^Event "Placed" has a aggregateType of 65 characters; at most 64 are stored/,
    })
    equal(define('x'.repeat(128), {}).name.length, 128)
  })

  it('refuses aliases that are no names, come twice, or are its own name', () => {
    const refused: readonly (readonly [unknown, RegExp])[] = [
      ['Ordered', /^Option "aliases" of event "Placed" must be a list of former names.* not a string\.$/],
      [[''], /^An alias of event "Placed" needs a non-empty string as eventType, not an empty string\.$/],
      [[7], /needs a non-empty string as eventType, not undefined/],
      [[null], /needs a non-empty string as eventType, not undefined/],
      [[{ eventType: 'Ordered' }], /needs a non-empty string as aggregateType, not undefined/],
      [['x'.repeat(129)], /^An alias of event "Placed" has a eventType of 129 characters; at most 128 are/],
      [['x\0'], /has a NUL character/],
    ]
    for (const [aliases, message] of refused) {
      throws(() => define('Placed', { aliases }), { code: 'OUTBOX_INVALID_OPTION', message })
    }
    for (const aliases of [
      ['Placed'],
      ['Ordered', 'Ordered'],
      ['Ordered', { aggregateType: '__GLOBAL__', eventType: 'Ordered' }],
    ]) {
      throws(() => define('Placed', { aliases }), { code: 'OUTBOX_INVALID_OPTION', message: /twice/ })
    }
    deepEqual(
      define('Placed', {
        aggregateType: 'Order',
        aliases: ['Ordered', { aggregateType: 'Shop', eventType: 'Placed' }],
      }).aliases,
      [
        { aggregateType: 'Order', eventType: 'Ordered' },
        { aggregateType: 'Shop', eventType: 'Placed' },
      ],
    )
  })
})

describe('the version of a written event', () => {
  it('is a header if the definition names one, and no header otherwise', () => {
    equal(written({}).toRow(false).headers, null)
    equal(written({}).version, 1)
    const event = written({ version: 2, upgrade: { 1: same } }, { headers: { traceparent: '00-1' } })
    deepEqual(JSON.parse(event.toRow(false).headers!), { traceparent: '00-1', 'event-version': '2' })
    equal(event.version, 2)
    equal(written({ version: 1 }).headers['event-version'], '1')
  })

  it('is that of the definition, whatever the headers of the write say', () => {
    const event = written({ version: 2, upgrade: { 1: same } }, { headers: { 'event-version': '7' } })
    equal(event.version, 2)
  })

  it('may be a header of an event without a definition, if it is a version', () => {
    const of = (version: string) =>
      EventEnvelope.of({ eventType: 'Placed', payloadJson: '{}', headers: { 'event-version': version } })
    equal(of('3').version, 3)
    for (const wrong of ['0', '-1', '1.5', 'v2', '', ' 2', '1e3', '9'.repeat(20)]) {
      throws(() => of(wrong), { code: 'OUTBOX_INVALID_EVENT', message: /"event-version"/ })
      equal(versionOf({ 'event-version': wrong }), Number.NaN)
    }
  })
})
