import { deepEqual, equal, throws } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { natsPublisher, type NatsPublisherOptions } from '../../../src/publishers/nats/index.ts'
import {
  kindsOf,
  publish,
  publishAll,
  sampleEvent,
} from '../../../src/testing/publisher-checks/publish-steps.ts'
import { NatsStreams } from './nats-streams.ts'

describe('natsPublisher', () => {
  let streams: NatsStreams
  let subject: string
  before(async () => {
    streams = await NatsStreams.open(process.env['NATS_URL']!)
    subject = await streams.make(`nats-${process.pid}`)
  })
  after(() => streams.close())

  it('makes the stream store a repeated message once', async () => {
    const publisher = natsPublisher({ jetstream: streams.jetstream, subject })
    const event = sampleEvent(1)
    await publishAll(publisher, [event])
    await publishAll(publisher, [event])

    const messages = await streams.stored(subject)
    equal(messages.length, 1)
    equal(messages[0]!.headers['Nats-Msg-Id'], event.eventId)
  })

  it('does not accept the acknowledgement of another stream than the expected one', async () => {
    const publisherFor = (stream: string) => natsPublisher({ jetstream: streams.jetstream, subject, stream })
    const event = sampleEvent(2)
    deepEqual(kindsOf(await publish(publisherFor('another'), [event])), ['OUTBOX_PUBLISH_FAILED'])
    await publishAll(publisherFor(subject), [event])
  })

  it('fails for now when a stream is full', async () => {
    const name = `full-${process.pid}`
    await streams.manager.streams.add({ name, subjects: [name], max_msgs: 1, discard: 'new' })
    const publisher = natsPublisher({ jetstream: streams.jetstream, subject: name })
    await publishAll(publisher, [sampleEvent(1)])
    deepEqual(kindsOf(await publish(publisher, [sampleEvent(2)])), ['OUTBOX_PUBLISH_FAILED'])
  })

  it('gives up on a message that is too large for its stream, and on an invalid header', async () => {
    const name = `small-${process.pid}`
    await streams.manager.streams.add({ name, subjects: [name], max_msg_size: 1_000 })
    const publisher = natsPublisher({ jetstream: streams.jetstream, subject: name })
    const large = sampleEvent(1, { payloadBytes: new Uint8Array(2_000) })
    const unnameable = sampleEvent(2, { headers: { 'a:b': '1' } })
    deepEqual(kindsOf(await publish(publisher, [large, unnameable])), [
      'OUTBOX_PUBLISH_REFUSED',
      'OUTBOX_UNRECOVERABLE',
    ])
  })

  it('names the options that it needs', () => {
    throws(() => natsPublisher({ subject } as NatsPublisherOptions), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => natsPublisher({ jetstream: streams.jetstream } as unknown as NatsPublisherOptions), {
      code: 'OUTBOX_INVALID_OPTION',
    })
  })
})
