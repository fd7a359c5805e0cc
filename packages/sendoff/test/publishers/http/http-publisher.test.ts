import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { HTTP } from 'cloudevents'
import { Webhook } from 'standardwebhooks'
import { httpPublisher, type HttpPublisherOptions } from '../../../src/publishers/http/index.ts'
import {
  kindsOf,
  publish,
  publishAll,
  sampleEvent,
  sampleEvents,
} from '../../../src/testing/publisher-checks/publish-steps.ts'
import { WebhookReceiver } from './webhook-receiver.ts'

const oldSecret = `whsec_${Buffer.from('the old secret of a receiver').toString('base64')}`
const newSecret = `whsec_${Buffer.from('the new secret of a receiver').toString('base64')}`

describe('httpPublisher', () => {
  let receiver: WebhookReceiver
  const answer204 = new WebhookReceiver().respond
  before(async () => {
    receiver = await WebhookReceiver.start()
  })
  after(() => receiver.kill())
  afterEach(() => {
    receiver.respond = answer204
    receiver.received.length = 0
  })

  const publisherWith = (options: Partial<HttpPublisherOptions> = {}) =>
    httpPublisher({ url: receiver.url, allowPrivateAddresses: true, logger: false, ...options })

  /** Returns the answer for one event when the receiver replies like this. */
  const answerTo = async (status: number, headers: Record<string, string> = {}, body = '') => {
    receiver.respond = (_request, response) => void response.writeHead(status, headers).end(body)
    const [answer] = await publish(publisherWith(), [sampleEvent(1)])
    return answer!
  }

  it('signs by the rules of Standard Webhooks, with every secret that is in use', async () => {
    await publishAll(publisherWith({ secret: () => [newSecret, oldSecret] }), [sampleEvent(7)])
    const { headers, body } = receiver.received[0]!
    for (const secret of [oldSecret, newSecret]) {
      deepEqual(new Webhook(secret).verify(body, headers), { number: 7 })
    }
    const other = `whsec_${Buffer.from('the secret of another').toString('base64')}`
    throws(() => new Webhook(other).verify(body, headers))
    throws(() => new Webhook(oldSecret).verify(body.replace('7', '8'), headers))
  })

  for (const mode of ['binary', 'structured'] as const) {
    it(`sends ${mode} CloudEvents that other libraries can read`, async () => {
      const event = sampleEvent(7, { aggregateId: 'Zoë' })
      await publishAll(publisherWith({ cloudEvents: { mode, source: '/checks' } }), [event])
      const read = HTTP.toEvent(receiver.received[0]!)
      equal(Array.isArray(read), false)
      const { id, source, type, data } = read as { id: string; source: string; type: string; data: unknown }
      deepEqual(
        { id, source, type, data },
        { id: event.eventId, source: '/checks', type: 'Checked', data: { number: 7 } },
      )
    })
  }

  for (const status of [400, 401, 403, 404, 405, 409, 410, 413, 422, 301, 302, 307, 308]) {
    it(`treats ${status} as a refusal`, async () => {
      deepEqual(kindsOf([await answerTo(status, { location: receiver.url })]), ['OUTBOX_PUBLISH_REFUSED'])
      equal(receiver.received.length, 1)
    })
  }

  for (const status of [408, 425, 429, 500, 502, 503, 504]) {
    it(`treats ${status} as a failed attempt, or as a wait that the receiver asks for`, async () => {
      deepEqual(kindsOf([await answerTo(status)]), ['OUTBOX_PUBLISH_FAILED'])

      const bySeconds = await answerTo(status, { 'retry-after': '7' })
      deepEqual('delayMs' in bySeconds && bySeconds.delayMs, 7_000)

      const byDate = await answerTo(status, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() })
      const delayMs = 'delayMs' in byDate ? byDate.delayMs : NaN
      equal(delayMs > 30_000 && delayMs <= 60_000, true, `${delayMs} ms`)
      deepEqual(kindsOf([await answerTo(status, { 'retry-after': 'soon' })]), ['OUTBOX_PUBLISH_FAILED'])
    })
  }

  for (const retryAfter of ['0', '-7', '+0', 'Thu, 01 Jan 1970 00:00:00 GMT', '2001']) {
    it(`waits for a second at least, whatever Retry-After says: ${retryAfter}`, async () => {
      const answer = await answerTo(503, { 'retry-after': retryAfter })
      equal('delayMs' in answer && answer.delayMs >= 1_000, true, JSON.stringify(answer))
    })
  }

  it('keeps the beginning of a response, and no query of the URL', async () => {
    receiver.respond = (_request, response) =>
      void response.writeHead(400).end(`no   such order\n${'x'.repeat(100_000)}`)
    const [answer] = await publish(publisherWith({ url: `${receiver.url}/orders?token=secret` }), [
      sampleEvent(1),
    ])
    const { message } = (answer as Error).cause as Error
    match(message, /\/orders answered 400: no such order x+$/)
    equal(message.length < 400, true)
    equal(message.includes('secret'), false)
  })

  it('follows redirects that keep the method, if that is allowed', async () => {
    receiver.respond = ({ path }, response) => {
      if (path === '/moved') response.writeHead(204).end()
      else response.writeHead(path === '/other' ? 302 : 308, { location: '/moved' }).end()
    }
    await publishAll(publisherWith({ allowRedirects: true }), [sampleEvent(1)])
    deepEqual(
      receiver.received.map(({ method, path, body }) => `${method} ${path} ${body}`),
      ['POST / {"number":1}', 'POST /moved {"number":1}'],
    )
    const other = publisherWith({ allowRedirects: true, url: `${receiver.url}/other` })
    deepEqual(kindsOf(await publish(other, [sampleEvent(1)])), ['OUTBOX_PUBLISH_REFUSED'])
  })

  it('gives up on redirects without end', async () => {
    receiver.respond = (_request, response) => void response.writeHead(307, { location: '/' }).end()
    deepEqual(kindsOf(await publish(publisherWith({ allowRedirects: true }), [sampleEvent(1)])), [
      'OUTBOX_PUBLISH_REFUSED',
    ])
    equal(receiver.received.length, 4)
  })

  it('sends nothing to another origin that it is redirected to', async () => {
    const other = await WebhookReceiver.start()
    receiver.respond = (_request, response) => void response.writeHead(307, { location: other.url }).end()
    const publisher = publisherWith({ allowRedirects: true, headers: { authorization: 'Bearer secret' } })
    const [answer] = await publish(publisher, [sampleEvent(1)])
    await other.kill()
    deepEqual(kindsOf([answer!]), ['OUTBOX_PUBLISH_REFUSED'])
    match(((answer as Error).cause as Error).message, /another origin/)
    equal(other.received.length, 0)
  })

  it('gives up on a redirect to another protocol than HTTP', async () => {
    receiver.respond = (_request, response) => void response.writeHead(307, { location: 'ftp://a/' }).end()
    deepEqual(kindsOf(await publish(publisherWith({ allowRedirects: true }), [sampleEvent(1)])), [
      'OUTBOX_PUBLISH_REFUSED',
    ])
  })

  const privateHosts = [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '10.0.0.1',
    '169.254.169.254',
    '2130706433',
    '[::7f00:1]',
    '[fec0::1]',
  ]
  for (const host of privateHosts) {
    it(`refuses the private address ${host}`, async () => {
      const url = `http://${host}:${new URL(receiver.url).port}/`
      const publisher = publisherWith({ url, allowPrivateAddresses: false })
      deepEqual(kindsOf(await publish(publisher, [sampleEvent(1)])), ['OUTBOX_PUBLISH_REFUSED'])
      deepEqual(receiver.received, [])
    })
  }

  it('waits for the one receiver that is away, and for no other', async () => {
    const away = await WebhookReceiver.start()
    await away.kill()
    const lines: string[] = []
    const write = (line: string): void => void lines.push(line)
    const publisher = publisherWith({
      url: ({ orderingKey }) => (orderingKey === 'away' ? away : receiver).url,
      logger: { debug: write, info: write, warn: write, error: write },
    })
    const events = [...sampleEvents(2, { orderingKey: 'away' }), ...sampleEvents(2, { orderingKey: 'here' })]
    for (let round = 0; round < 2; round++) {
      deepEqual(kindsOf(await publish(publisher, events)), ['retryAfter', 'retryAfter', 'done', 'done'])
    }
    equal(lines.length, 1)
    equal(lines[0]!.includes(away.url), true)
  })

  it('tries a receiver again that a batch was to try and did not reach', async () => {
    const away = await WebhookReceiver.start()
    await away.kill()
    const publisher = publisherWith({
      url: ({ eventType }) => (eventType === 'ForAway' ? away : receiver).url,
      retryAfterMs: 1,
      maxRetryAfterMs: 1,
    })
    const forAway = sampleEvent(1, { eventType: 'ForAway', orderingKey: 'a' })
    deepEqual(kindsOf(await publish(publisher, [forAway])), ['retryAfter'])
    await away.start()
    await delay(5)
    receiver.respond = (_request, response) => void response.writeHead(500).end()
    const held = await publish(publisher, [sampleEvent(2, { orderingKey: 'a' }), forAway])
    deepEqual(kindsOf(held), ['OUTBOX_PUBLISH_FAILED', 'retryAfter'])
    deepEqual(kindsOf(await publish(publisher, [forAway])), ['done'])
    await away.kill()
  })

  it('sends each event once to a slow receiver, however many wait for their turn', async () => {
    receiver.respond = (_request, response) => void setTimeout(() => response.writeHead(204).end(), 200)
    const publisher = publisherWith({ timeoutMs: 1_000 })
    await Promise.all([publishAll(publisher, sampleEvents(100)), publishAll(publisher, sampleEvents(100))])
    equal(receiver.received.length, 200)
  })

  it('defers unsent events when the batch is aborted', async () => {
    const aborter = new AbortController()
    receiver.respond = () => aborter.abort(new Error('The lease was lost.'))
    const publisher = publisherWith({ maxConcurrentRequests: 1 })
    const answers = await publish(publisher, sampleEvents(3), aborter.signal)
    deepEqual(kindsOf(answers), ['OUTBOX_RECOVERABLE', 'retryAfter', 'retryAfter'])
    equal(receiver.received.length, 1)
  })

  it('counts an attempt when the receiver breaks off, and others of its origin are sent', async () => {
    receiver.respond = ({ body }, response) => {
      if (body.includes('666')) response.destroy()
      else response.writeHead(204).end()
    }
    const publisher = publisherWith()
    for (let round = 0; round < 2; round++) {
      deepEqual(kindsOf(await publish(publisher, [sampleEvent(666), sampleEvent(1)])), [
        'OUTBOX_PUBLISH_FAILED',
        'done',
      ])
    }
  })

  it('counts attempts at a receiver that is away, if configured so', async () => {
    const away = await WebhookReceiver.start()
    await away.kill()
    const publisher = publisherWith({ url: away.url, onUnreachable: 'retry' })
    deepEqual(kindsOf(await publish(publisher, [sampleEvent(1)])), ['OUTBOX_PUBLISH_FAILED'])
  })

  it('gives up on an invalid URL or header', async () => {
    for (const options of [
      { url: () => 'file:///etc/passwd' },
      { url: () => 'orders' },
      { headers: { 'a b': '1' } },
    ]) {
      deepEqual(kindsOf(await publish(publisherWith(options), [sampleEvent(1)])), ['OUTBOX_UNRECOVERABLE'])
    }
  })

  it('sends no headers of a connection, wherever they come from', async () => {
    const connectionHeaders = {
      Host: 'other.example',
      'Transfer-Encoding': 'chunked',
      'content-length': '5',
      Connection: 'close',
      te: 'trailers',
      Trailer: 'x',
      upgrade: 'websocket',
      Expect: '100-continue',
      'keep-alive': 'timeout=1',
      'Proxy-Authorization': 'secret',
      'proxy-connection': 'close',
    }
    const event = sampleEvent(1, { headers: { ...connectionHeaders, 'X-Kept': 'a' } })
    await publishAll(publisherWith({ headers: connectionHeaders }), [event])
    const { host, connection, 'content-length': length, ...headers } = receiver.received[0]!.headers
    deepEqual([host, connection, length], [new URL(receiver.url).host, 'keep-alive', '12'])
    deepEqual(Object.keys(headers).sort(), [
      'aggregate-type',
      'content-type',
      'event-id',
      'event-type',
      'occurred-at',
      'x-kept',
    ])
  })

  it('recognises headers by their names in upper and lower case', async () => {
    const event = sampleEvent(1, { headers: { 'Event-Id': 'forged', 'X-Token': 'of the event' } })
    await publishAll(publisherWith({ headers: { 'x-token': 'of the option' } }), [event])
    const { headers } = receiver.received[0]!
    deepEqual([headers['event-id'], headers['x-token']], [event.eventId, 'of the option'])
  })

  it('carries any header value', async () => {
    const value = ' \r\nx: "ü" 100% \u0000'
    await publishAll(publisherWith({ headers: { note: value } }), [sampleEvent(1)])
    equal(decodeURIComponent(receiver.received[0]!.headers['note']!), value)
  })

  it('names unknown options, and missing ones', () => {
    throws(() => publisherWith({ retries: 3 } as object), { code: 'OUTBOX_UNKNOWN_OPTION' })
    throws(() => httpPublisher({} as HttpPublisherOptions), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => publisherWith({ url: 7 } as unknown as HttpPublisherOptions), {
      code: 'OUTBOX_INVALID_OPTION',
    })
  })
})

describe('a secret of webhooks', () => {
  const url = 'https://hooks.example'
  it('is checked when the publisher is created', () => {
    for (const secret of ['', 'whsec_???', 'my-secret', ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '']]) {
      throws(() => httpPublisher({ url, secret }), { code: 'OUTBOX_INVALID_OPTION' }, String(secret))
    }
    httpPublisher({ url, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' })
  })

  it('that is undefined is refused: messages would be sent unsigned', () => {
    const secret = process.env['NO_SUCH_SECRET'] as string
    throws(() => httpPublisher({ url, secret }), /secret" of httpPublisher is undefined/)
    httpPublisher({ url })
  })
})
