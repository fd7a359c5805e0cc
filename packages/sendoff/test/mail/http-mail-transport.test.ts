import { deepEqual, doesNotMatch, equal, match, notEqual, throws } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import {
  type ComposedMail,
  formatAddress,
  httpMailTransport,
  type HttpMailTransportOptions,
  visibleRecipients,
} from '../../src/mail/index.ts'
import { enqueue, startMail } from './mail-fixture.ts'

interface Posted {
  readonly headers: IncomingHttpHeaders
  readonly body: any
}

const minuteMs = 60_000
const secret = 'sk-live-1234567890'

/** A real HTTP server that keeps the posted mails, and a transport to it. */
async function api(
  test: TestContext,
  answer: (posted: Posted, call: number) => Answer,
  options: Partial<HttpMailTransportOptions> = {},
) {
  const posted: Posted[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      posted.push({ headers: request.headers, body: JSON.parse(body) })
      answer(posted.at(-1)!, posted.length)(response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/email?token=query-secret`
  const transport = httpMailTransport({
    url,
    headers: { authorization: `Bearer ${secret}` },
    body: bodyOf,
    timeoutMs: 5_000,
    ...options,
  })
  return { posted, transport, server }
}

type Answer = (response: Parameters<RequestListener>[1]) => void

function bodyOf(mail: ComposedMail) {
  const { to, cc, bcc } = visibleRecipients(mail)
  return { from: formatAddress(mail.from), to: to.map(formatAddress), cc, bcc, subject: mail.subject }
}

function status(code: number, body: unknown = {}, headers: Record<string, string> = {}): Answer {
  return (response) => response.writeHead(code, headers).end(JSON.stringify(body))
}

describe('mails by HTTP', { concurrency: true }, () => {
  it('arrive once each, with the key and as the body says', async (test) => {
    const { posted, transport } = await api(test, () => status(200))
    const { mail, worker } = await startMail(test, transport)
    const id = await enqueue(mail, { cc: 'bob@example.com', bcc: 'eve@example.com' })
    await worker.drain()
    equal((await mail.find(id))!.state, 'SENT')
    equal(posted.length, 1)
    equal(posted[0]!.headers.authorization, `Bearer ${secret}`)
    equal(posted[0]!.headers['content-type'], 'application/json')
    deepEqual(posted[0]!.body, {
      from: '"Sendoff" <post@sendoff.example>',
      to: ['ada@example.com'],
      cc: [{ address: 'bob@example.com' }],
      bcc: [{ address: 'eve@example.com' }],
      subject: 'Welcome',
    })
  })

  it('carry the same idempotency key at every attempt for the same recipients, and another one for fewer', async (test) => {
    const answers = [status(500), status(200, { refused: ['bob@example.com'] }), status(200)]
    const { posted, transport } = await api(test, (_, call) => answers[call - 1]!, {
      idempotencyHeader: 'Idempotency-Key',
      rejectedOf: ({ json }) =>
        (json as { refused?: string[] }).refused?.map((address) => ({
          address,
          isPermanent: false,
          reason: 'later',
        })),
    })
    const { mail, worker, clock } = await startMail(test, transport)
    const id = await enqueue(mail, { cc: 'bob@example.com' })
    await worker.drain()
    await clock.advance(minuteMs)
    await worker.drain()
    await clock.advance(5 * minuteMs)
    await worker.drain()
    equal((await mail.find(id))!.state, 'SENT')
    const keys = posted.map(({ headers }) => headers['idempotency-key'])
    equal(keys[0], keys[1])
    notEqual(keys[1], keys[2])
    deepEqual(posted[2]!.body.to, ['bob@example.com'])
  })

  it('are refused for single recipients when the provider says so', async (test) => {
    const refused: string[] = []
    const { transport } = await api(test, () => status(422, { inactive: 'bob@example.com' }), {
      rejectedOf: ({ status: code, json }) =>
        code === 422
          ? [
              {
                address: (json as { inactive: string }).inactive,
                isPermanent: true,
                isAddressFault: true,
                reason: 'inactive',
              },
            ]
          : undefined,
    })
    const { mail, worker } = await startMail(test, transport, {
      onRefused: ({ address }) => refused.push(address),
    })
    const id = await enqueue(mail, { cc: 'bob@example.com' })
    await worker.drain()
    match((await mail.find(id))!.lastError!, /\[accepted 1; refused 2\] #2 refused: inactive/)
    deepEqual(refused, ['bob@example.com'])
  })

  for (const code of [400, 404, 413, 422]) {
    it(`are given up at once at ${code}, and no address is reported as refused`, async (test) => {
      const refused: unknown[] = []
      const { transport } = await api(test, () => status(code, { error: `key ${secret} query-secret` }))
      const { mail, worker } = await startMail(test, transport, { onRefused: (each) => refused.push(each) })
      const id = await enqueue(mail)
      await worker.drain()
      const { state, lastError } = (await mail.find(id))!
      equal(state, 'FAILED')
      match(lastError!, new RegExp(`answered ${code}`))
      doesNotMatch(lastError!, /sk-live|query-secret/)
      deepEqual(refused, [])
    })
  }

  for (const code of [302, 401, 403, 429, 502, 503]) {
    it(`wait without counting an attempt at ${code}, for as long as the provider asks`, async (test) => {
      let isOver = false
      const { transport } = await api(test, () =>
        isOver ? status(200) : status(code, `no ${secret}`, { 'retry-after': '120' }),
      )
      const { mail, worker, clock } = await startMail(test, transport)
      const id = await enqueue(mail)
      await worker.drain()
      const { state, attempts, sendAt, lastError } = (await mail.find(id))!
      deepEqual({ state, attempts }, { state: 'NEW', attempts: 0 })
      equal(sendAt.getTime() - clock.now(), 120_000)
      doesNotMatch(lastError!, /sk-live/)
      isOver = true
      await clock.advance(120_000)
      await worker.drain()
      equal((await mail.find(id))!.state, 'SENT')
    })
  }

  for (const code of [408, 409, 500, 504]) {
    it(`are tried again at ${code}, and the attempt counts`, async (test) => {
      const { transport } = await api(test, () => status(code))
      const { mail, worker } = await startMail(test, transport)
      const id = await enqueue(mail)
      await worker.drain()
      equal((await mail.find(id))!.attempts, 1)
    })
  }

  it('wait without counting an attempt while nothing listens', async (test) => {
    const { transport, server } = await api(test, () => status(200))
    server.close()
    await once(server, 'close')
    const { mail, worker, clock } = await startMail(test, transport)
    const id = await enqueue(mail)
    for (let step = 0; step < 20; step++) {
      await worker.drain()
      await clock.advance(5 * minuteMs)
    }
    const { state, attempts } = (await mail.find(id))!
    deepEqual({ state, attempts }, { state: 'NEW', attempts: 0 })
  })

  it('are given up when no request can be made, and when a response cannot be read', async (test) => {
    for (const options of [
      { body: () => 1n },
      {
        rejectedOf: () => {
          throw new Error('not what I know')
        },
      },
    ]) {
      const { transport } = await api(test, () => status(200), options)
      const { mail, worker } = await startMail(test, transport)
      const id = await enqueue(mail)
      await worker.drain()
      equal((await mail.find(id))!.state, 'FAILED')
    }
  })

  it('are still sent after a server drips, resets or sends without end', async (test) => {
    const timers = new Set<NodeJS.Timeout>()
    test.after(() => timers.forEach(clearInterval))
    const drip = (code: number): Answer => {
      return (response) => {
        response.writeHead(code)
        timers.add(setInterval(() => response.write('x'), 20))
      }
    }
    const endless: Answer = (response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write('y'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    }
    const reset: Answer = (response) => void response.socket!.resetAndDestroy()
    const silent: Answer = () => {}
    const cutOff: Answer = (response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"a":', () => setTimeout(() => response.socket!.destroy(), 50))
    }
    const expected = [
      [drip(200), 'SENT 0'],
      [drip(500), 'NEW 1'],
      [endless, 'SENT 0'],
      [cutOff, 'SENT 0'],
      [reset, 'NEW 1'],
      [silent, 'NEW 1'],
    ] as const
    const runs = expected.map(async ([answer, wanted]) => {
      const { transport } = await api(test, () => answer, { timeoutMs: 1_000 })
      const { mail, worker } = await startMail(test, transport)
      const id = await enqueue(mail)
      await worker.drain()
      const { state, attempts } = (await mail.find(id))!
      equal(`${state} ${attempts}`, wanted)
    })
    await Promise.all(runs)
  })

  it('hide hidden recipients from all others', () => {
    const mail = {
      from: { address: 'me@example.com' },
      to: [{ address: 'a@example.com' }],
      cc: [{ address: 'b@example.com' }],
      envelope: { from: '', to: ['c@example.com', 'd@example.com'] },
    } as unknown as ComposedMail
    deepEqual(visibleRecipients(mail), {
      to: [{ address: 'me@example.com' }],
      cc: [],
      bcc: [{ address: 'c@example.com' }, { address: 'd@example.com' }],
    })
  })
})

describe('the options of an HTTP transport', () => {
  it('are checked', () => {
    const make = (options: object) => () =>
      httpMailTransport({ url: 'https://x.example', body: () => ({}), ...options })
    for (const options of [
      { url: 'ftp://x.example' },
      { url: 'https://me:pass@x.example' },
      { body: 'x' },
      { timeoutMs: 0 },
    ]) {
      throws(make(options), { code: 'OUTBOX_INVALID_OPTION' })
    }
    throws(make({ retries: 1 }), { code: 'OUTBOX_UNKNOWN_OPTION' })
  })
})
