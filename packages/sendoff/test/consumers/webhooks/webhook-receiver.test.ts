import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import {
  type ConsumerInbox,
  webhookReceiver,
  type WebhookReceiverOptions,
} from '../../../src/consumers/webhooks/index.ts'
import { httpPublisher } from '../../../src/publishers/http/index.ts'
import { idsOf, kindsOf, publish, sampleEvents } from '../../../src/testing/publisher-checks/publish-steps.ts'
import { exponentialBackoff } from '../../../src/retry/exponential-backoff.ts'
import { Effects } from '../effects.ts'

const secret = `whsec_${Buffer.from('a secret of the sender').toString('base64')}`

async function newReceiver(test: TestContext, options: Partial<WebhookReceiverOptions<any>> = {}) {
  const effects = await Effects.forTest(test)
  const { inbox, handler, logger } = effects
  const receive = webhookReceiver({ secrets: [secret], inbox, handler, logger, ...options })
  test.after(() => receive.close())
  return { effects, receive }
}

interface Sending {
  readonly id?: string
  readonly body?: string
  readonly at?: Date
  readonly signedWith?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
}

function requestOf({ id = 'm-1', body = '{"n":1}', at = new Date(), ...sending }: Sending = {}): Request {
  const { signedWith = secret, headers = {}, method = 'POST' } = sending
  return new Request('http://shop.example/hooks', {
    method,
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(signedWith).sign(id, at, body),
      'content-type': 'application/json',
      ...headers,
    },
    ...(method === 'POST' && { body }),
  })
}

describe('webhookReceiver', () => {
  it('gives a message one effect, and acknowledges it each time', async (test) => {
    const { effects, receive } = await newReceiver(test)
    for (let times = 0; times < 3; times++) equal((await receive(requestOf())).status, 204)
    deepEqual(await effects.ids(), ['m-1'])
    deepEqual(effects.processed, ['processed', 'duplicate', 'duplicate'])
  })

  it('knows a message by the id that is signed, whatever other headers say', async (test) => {
    const { effects, receive } = await newReceiver(test)
    await receive(requestOf())
    await receive(requestOf({ headers: { 'event-id': 'another', 'ce-specversion': '1.0', 'ce-id': 'x' } }))
    deepEqual(await effects.ids(), ['m-1'])
  })

  it('refuses wrong signatures, old and early messages, changed bodies and other methods', async (test) => {
    const { effects, receive } = await newReceiver(test)
    const minutes = (count: number) => new Date(Date.now() + count * 60_000)
    const other = `whsec_${Buffer.from('somebody else').toString('base64')}`
    const changed = requestOf()
    const refused: [number, Request][] = [
      [401, requestOf({ signedWith: other })],
      [401, requestOf({ at: minutes(-6) })],
      [401, requestOf({ at: minutes(6) })],
      [401, requestOf({ headers: { 'webhook-signature': 'v1,' } })],
      [401, requestOf({ headers: { 'webhook-id': 'm-2' } })],
      [401, requestOf({ headers: { 'webhook-timestamp': 'NaN' } })],
      [401, new Request(changed.url, { method: 'POST', headers: changed.headers, body: '{"n":2}' })],
      [401, new Request(changed.url, { method: 'POST', body: '{"n":2}' })],
      [405, requestOf({ method: 'GET' })],
    ]
    for (const [status, request] of refused) equal((await receive(request)).status, status)
    deepEqual(await effects.ids(), [])
    equal((await receive(requestOf({ at: minutes(-4) }))).status, 204)
  })

  it('accepts an old and a new secret at a time', async (test) => {
    const old = `whsec_${Buffer.from('the old one').toString('base64')}`
    const { receive } = await newReceiver(test, { secrets: [secret, old] })
    equal((await receive(requestOf({ id: 'a', signedWith: old }))).status, 204)
    equal((await receive(requestOf({ id: 'b' }))).status, 204)
  })

  it('refuses a body that is too large', async (test) => {
    const { effects, receive } = await newReceiver(test, { maxBodyBytes: 100 })
    equal((await receive(requestOf({ body: JSON.stringify('x'.repeat(200)) }))).status, 413)
    deepEqual(await effects.ids(), [])
  })

  it('answers 500 if the handler fails, and succeeds when the sender tries again', async (test) => {
    let runs = 0
    const { effects, receive } = await newReceiver(test, {
      async handler(message) {
        await effects.handler(message)
        if (++runs === 1) throw new Error('not yet')
      },
    })
    const failed = await receive(requestOf())
    equal(failed.status, 500)
    equal(failed.headers.get('retry-after'), null, 'so that the sender counts the attempt')
    deepEqual(await effects.ids(), [])
    equal((await receive(requestOf())).status, 204)
    deepEqual(await effects.ids(), ['m-1'])
  })

  it('answers 503 with Retry-After without a database, and while another consumer has the message', async (test) => {
    const away: ConsumerInbox<any> = {
      consumer: 'away',
      process: () => Promise.reject(new Error('connection refused')),
      accept: () => Promise.reject(new Error('connection refused')),
    }
    const { effects, receive } = await newReceiver(test, { inbox: away })
    for (let times = 0; times < 20; times++) {
      const answer = await receive(requestOf())
      equal(answer.status, 503)
      ok(Number(answer.headers.get('retry-after')) >= 1)
    }
    equal(effects.log.length, 1, effects.log.join('\n'))
    match(effects.log[0]!, /connection refused/)

    const busy = webhookReceiver({
      secrets: [secret],
      inbox: { ...away, process: () => Promise.resolve('busy') },
      handler: () => {},
    })
    const answer = await busy(requestOf())
    equal(answer.status, 503)
    ok(Number(answer.headers.get('retry-after')) >= 1)
  })

  it('makes messages events, and answers 422 for one that cannot become an event', async (test) => {
    const { effects, receive } = await newReceiver(test)
    const accepting = webhookReceiver({
      secrets: [secret],
      inbox: effects.inbox,
      accept: ({ payload }) => ({ type: (payload as { type: string }).type, payload }),
      logger: effects.logger,
    })
    const body = '{"type":"OrderPaid","data":{"order":7}}'
    equal((await accepting(requestOf({ body }))).status, 204)
    equal((await accepting(requestOf({ body }))).status, 204)
    deepEqual(
      (await effects.rows('OrderPaid')).map(({ payload }) => payload),
      [body],
    )
    equal((await accepting(requestOf({ id: 'm-2', body: '{"type":""}' }))).status, 422)
    equal((await receive(requestOf({ id: 'x'.repeat(300) }))).status, 422)
  })

  it('refuses requests while it closes, and waits for those that run', async (test) => {
    const running = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const { effects, receive } = await newReceiver(test, {
      async handler(message) {
        running.resolve()
        await release.promise
        await effects.handler(message)
      },
    })
    const answer = receive(requestOf())
    await running.promise
    const closed = receive.close()
    equal((await receive(requestOf({ id: 'm-2' }))).status, 503)
    release.resolve()
    equal((await answer).status, 204)
    await closed
    deepEqual(await effects.ids(), ['m-1'])
  })

  it('answers requests that wait for a handler that hangs, when it closes', async (test) => {
    const running = Promise.withResolvers<void>()
    const { receive } = await newReceiver(test, {
      concurrency: 1,
      closeTimeoutMs: 20,
      handler: (_, __, { signal }) => {
        running.resolve()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    })
    const answers = ['a', 'b'].map((id) => receive(requestOf({ id })))
    await running.promise
    await receive.close()
    deepEqual(
      (await Promise.all(answers)).map(({ status }) => status),
      [500, 503],
    )
  })

  it('refuses requests beyond those that may wait', async (test) => {
    const release = Promise.withResolvers<void>()
    const { receive } = await newReceiver(test, { concurrency: 1, handler: () => release.promise })
    const answers = Array.from({ length: 15 }, (_, number) => receive(requestOf({ id: `m-${number}` })))
    release.resolve()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    deepEqual(statuses, [...Array<number>(10).fill(204), ...Array<number>(5).fill(503)])
  })

  it('receives what httpPublisher sends, over HTTP', async (test) => {
    const { effects, receive } = await newReceiver(test, { retry: exponentialBackoff({ baseDelayMs: 5 }) })
    const server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => {
        const headers = Object.entries(incoming.headers).map(
          ([name, value]) => [name, String(value)] as [string, string],
        )
        const request = new Request(`http://localhost${incoming.url}`, {
          method: 'POST',
          headers,
          body: Buffer.concat(chunks),
        })
        void receive(request).then(({ status }) => outgoing.writeHead(status).end())
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    test.after(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
    const publisher = httpPublisher({ url, secret, allowPrivateAddresses: true, logger: false })
    const events = sampleEvents(5)
    for (let times = 0; times < 2; times++) {
      deepEqual(kindsOf(await publish(publisher, events)), Array<string>(5).fill('done'))
    }
    deepEqual((await effects.ids()).toSorted(), [...idsOf(events)].toSorted())
    server.closeAllConnections()
  })

  it('names the options that it needs', () => {
    const inbox = {} as ConsumerInbox<any>
    throws(() => webhookReceiver({ secrets: [], inbox, handler() {} }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => webhookReceiver({ secrets: ['not base64!'], inbox, handler() {} }), {
      code: 'OUTBOX_INVALID_OPTION',
    })
    throws(
      () => webhookReceiver({ secrets: [secret], inbox: { ...inbox, process() {}, accept() {} } } as never),
      {
        code: 'OUTBOX_INVALID_OPTION',
        message: /neither "handler" nor "accept"/,
      },
    )
  })
})
