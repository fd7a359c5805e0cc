import { deepEqual, equal, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type BounceWebhookOptions, bounceWebhook, SuppressionList } from '../../src/mail/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'

const secret = `whsec_${Buffer.from('a secret of the provider').toString('base64')}`
const message = JSON.stringify({ type: 'bounced', email: 'Bob@Example.com' })

function newWebhook(options: Partial<BounceWebhookOptions> = {}) {
  const suppressions = new SuppressionList({ store: memoryStore() })
  const handle = bounceWebhook({
    suppressions,
    secrets: [secret],
    bouncesOf: (told) => {
      const { type, email } = told as { type: string; email: string }
      return type === 'bounced' ? [{ address: email, reason: 'bounced' }] : []
    },
    ...options,
  })
  const listed = async () => (await suppressions.list()).map(({ address, reason }) => `${address} ${reason}`)
  return { handle, listed }
}

function requestOf(body: string, { signedWith = secret, at = new Date(), method = 'POST' } = {}): Request {
  const signature = new Webhook(signedWith).sign('msg-1', at, body)
  const headers = {
    'webhook-id': 'msg-1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signature,
  }
  return new Request('http://mail.example/bounces', { method, headers, ...(method === 'POST' && { body }) })
}

describe('a webhook for bounces', () => {
  it('puts addresses on the suppression list', async () => {
    const { handle, listed } = newWebhook()
    equal((await handle(requestOf(message))).status, 204)
    equal((await handle(requestOf(message))).status, 204, 'a second time changes nothing')
    equal((await handle(requestOf('{"type":"opened","email":"ann@example.com"}'))).status, 204)
    deepEqual(
      (await listed()).map((entry) => entry.toLowerCase()),
      ['bob@example.com bounced'],
    )
  })

  it('stops reading when a body is too large', async () => {
    const { handle } = newWebhook()
    let read = 0
    let isCancelled = false
    const body = new ReadableStream({
      pull(controller) {
        read += 65_536
        // A body without end, which only the limit stops.
        if (read > 100 * 1_048_576) controller.error(new Error('all of it was read'))
        else controller.enqueue(new Uint8Array(65_536))
      },
      cancel: () => void (isCancelled = true),
    })
    const request = new Request('http://mail.example/', {
      method: 'POST',
      body,
      duplex: 'half',
    })
    equal((await handle(request)).status, 413)
    equal(isCancelled, true)
    equal(read < 2 * 1_048_576, true)
  })

  it('reads nothing of a body with a too large length, and returns 400 when one breaks off', async () => {
    const { handle } = newWebhook()
    const post = (body: ReadableStream, headers = {}) =>
      handle(new Request('http://mail.example/', { method: 'POST', body, headers, duplex: 'half' }))
    const large = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(10)) })
    equal((await post(large, { 'content-length': '2000000' })).status, 413)
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    equal((await post(broken)).status, 400)
  })

  it('refuses a message that is unsigned, signed with another secret, changed, or old', async () => {
    const { handle, listed } = newWebhook()
    const other = `whsec_${Buffer.from('another secret, unused').toString('base64')}`
    const changed = requestOf(message)
    const requests = [
      new Request('http://mail.example/', { method: 'POST', body: message }),
      requestOf(message, { signedWith: other }),
      new Request(changed, { body: message.replace('Bob', 'Ann') }),
      requestOf(message, { at: new Date(Date.now() - 600_000) }),
    ]
    for (const request of requests) equal((await handle(request)).status, 401)
    deepEqual(await listed(), [])
  })

  it('accepts both the old and the new secret', async () => {
    const next = `whsec_${Buffer.from('the secret of next month').toString('base64')}`
    const { handle } = newWebhook({ secrets: [next, secret] })
    for (const signedWith of [secret, next])
      equal((await handle(requestOf(message, { signedWith }))).status, 204)
  })

  it('returns what is wrong with a request', async () => {
    const { handle } = newWebhook()
    equal((await handle(requestOf('', { method: 'GET' }))).status, 405)
    equal((await handle(requestOf('no JSON'))).status, 400)
    equal((await handle(requestOf('{"type":"bounced","email":"nobody"}'))).status, 400)
    equal((await handle(requestOf(`"${'x'.repeat(1_100_000)}"`))).status, 413)
  })

  it('lets the provider try again when the list cannot be written', async () => {
    const suppressions = { add: () => Promise.reject(new Error('the database is away')) }
    await rejects(newWebhook({ suppressions }).handle(requestOf(message)), /away/)
  })

  it('cannot be created without a secret', () => {
    for (const secrets of [[], [''], ['whsec_'], ['!']]) {
      throws(() => newWebhook({ secrets }), { code: 'OUTBOX_INVALID_OPTION' })
    }
  })
})
