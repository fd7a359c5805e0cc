import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { wireMessage } from '../../src/publishers/wire-message.ts'

const event = (version?: string) =>
  EventEnvelope.of({
    eventType: 'Placed',
    payloadJson: '{"total":1}',
    ...(version !== undefined && { headers: { 'event-version': version } }),
  })

it('a message carries the version of its event as a header, and as an attribute of CloudEvents', () => {
  equal(wireMessage(event('2'), {}, 'ce_').headers['event-version'], '2')

  const binary = wireMessage(event('2'), { cloudEvents: { source: '/shop', mode: 'binary' } }, 'ce_').headers
  deepEqual([binary['event-version'], binary['ce_eventversion']], ['2', '2'])

  const structured = wireMessage(event('2'), { cloudEvents: { source: '/shop', mode: 'structured' } }, 'ce_')
  equal((JSON.parse(structured.body as string) as { eventversion: string }).eventversion, '2')
})

it('a message of an event without a version has neither', () => {
  const { headers } = wireMessage(event(), { cloudEvents: { source: '/shop', mode: 'binary' } }, 'ce_')
  deepEqual(
    Object.keys(headers).filter((name) => name.includes('version')),
    ['ce_specversion'],
  )
  equal('event-version' in wireMessage(event(), {}, 'ce_').headers, false)
})
