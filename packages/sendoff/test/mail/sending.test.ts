import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RetryAfterError, UnrecoverableError } from '../../src/errors.ts'
import { KeyRing, MailOutboxWorker, type Suppressions } from '../../src/mail/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { enqueue, openMail, startMail, startWorker, until } from './mail-fixture.ts'
import { RecordingTransport, rejected } from './recording-transport.ts'

const minuteMs = 60_000
const three = { to: ['a@example.com', 'b@example.com'], bcc: 'c@example.com' }

function suppressing(...addresses: readonly string[]): Suppressions {
  return {
    find: async (asked) =>
      new Map(asked.filter((each) => addresses.includes(each)).map((each) => [each, 'bounced'])),
  }
}

describe('sending a mail', () => {
  it('leaves out suppressed recipients, and records them in its history', async (test) => {
    const transport = new RecordingTransport()
    const { mail, worker } = await startMail(test, transport, { suppressions: suppressing('b@example.com') })
    const id = await enqueue(mail, three)
    await worker.drain()
    deepEqual(transport.recipients, [['a@example.com', 'c@example.com']])
    equal((await mail.find(id))!.state, 'SENT')
    match((await mail.attempts(id))[0]!.error, /^MailSuppressedError: .*#2 suppressed: bounced$/)
  })

  it('fails if all recipients are suppressed, and succeeds when replayed after that is lifted', async (test) => {
    const suppressed = ['ada@example.com']
    const suppressions: Suppressions = { find: (asked) => suppressing(...suppressed).find(asked) }
    const transport = new RecordingTransport()
    const { mail, worker } = await startMail(test, transport, { suppressions })
    const id = await enqueue(mail)
    await worker.drain()
    equal((await mail.find(id))!.state, 'FAILED')
    equal(transport.sent.length, 0)

    suppressed.pop()
    await mail.replay(id)
    await worker.drain()
    equal((await mail.find(id))!.state, 'SENT')
    equal(transport.sent.length, 1)
  })

  it('tries a replayed mail only for recipients that have not got it', async (test) => {
    const transport = new RecordingTransport((_, call) =>
      call === 1 ? [rejected('b@example.com', true), rejected('c@example.com', false)] : [],
    )
    const { mail, worker, clock } = await startMail(test, transport)
    const id = await enqueue(mail, three)
    await worker.drain()
    await clock.advance(minuteMs)
    await worker.drain()
    equal((await mail.find(id))!.state, 'FAILED')
    await mail.replay(id)
    await worker.drain()
    equal((await mail.find(id))!.state, 'SENT')
    deepEqual(transport.recipients, [
      ['a@example.com', 'b@example.com', 'c@example.com'],
      ['c@example.com'],
      ['b@example.com'],
    ])
  })

  it('fills templates when a mail is sent, and when it is previewed', async (test) => {
    const transport = new RecordingTransport()
    const { mail, worker } = await startMail(test, transport, {
      render: async (template, data) => ({
        subject: `${template} for ${(data as { name: string }).name}`,
        html: `<p>Dear ${(data as { name: string }).name}</p>`,
      }),
    })
    const { from, to } = { from: 'post@sendoff.example', to: 'ada@example.com' }
    const id = await mail.transaction(() =>
      mail.enqueue({ from, to, template: 'bill', data: { name: 'Ada' } }),
    )
    await worker.drain()
    equal(transport.sent[0]!.subject, 'bill for Ada')
    equal(transport.sent[0]!.html, '<p>Dear Ada</p>')
    deepEqual(await mail.preview(id), transport.sent[0])
  })

  it('does not let a template forge headers', async (test) => {
    const transport = new RecordingTransport()
    const render = () => ({ subject: 'Hello\r\nBcc: eve@example.com' })
    const { mail, worker } = await startMail(test, transport, { render })
    const id = await enqueue(mail, { template: 'any' })
    await worker.drain()
    equal(transport.sent.length, 0)
    match((await mail.find(id))!.lastError!, /could forge a header/)
  })

  it('loads attachments that were given by reference, at each attempt again', async (test) => {
    const transport = new RecordingTransport((_, call) =>
      call === 1 ? new Error('connection lost') : undefined,
    )
    const asked: string[] = []
    const { mail, worker, clock } = await startMail(test, transport, {
      resolveAttachment: async (reference, { filename }) => {
        asked.push(`${reference} as ${filename}`)
        return 'The bill'
      },
    })
    await enqueue(mail, { attachments: [{ filename: 'bill.pdf', reference: 'bills/7' }] })
    await worker.drain()
    await clock.advance(minuteMs)
    await worker.drain()
    deepEqual(asked, ['bills/7 as bill.pdf', 'bills/7 as bill.pdf'])
    equal(transport.sent[1]!.attachments[0]!.content, 'The bill')
  })

  it('keeps the rate limit of its provider, and does not slow other providers', async (test) => {
    const transport = new RecordingTransport()
    const bulk = new RecordingTransport()
    const { mail, worker, clock } = await startMail(test, transport, {
      transports: { default: transport, bulk },
      rateLimits: { bulk: { mails: 2, perMs: 1_000 } },
    })
    for (let number = 0; number < 5; number++) await enqueue(mail, {}, { provider: 'bulk' })
    for (let number = 0; number < 5; number++) await enqueue(mail)
    await worker.drain()
    equal(transport.sent.length, 5)
    const sent = [bulk.sent.length]
    for (let step = 0; step < 4; step++) {
      await clock.advance(500)
      await worker.drain()
      sent.push(bulk.sent.length)
    }
    deepEqual(sent, [1, 2, 3, 4, 5])
    const rows = await mail.store.people!.query({ limit: 100 })
    deepEqual(new Set(rows.map(({ attempts }) => attempts)), new Set([0]))
  })

  it('begins when a mail is committed or falls due, without polling the table at intervals', async (test) => {
    const transport = new RecordingTransport()
    const { mail, clock } = await startMail(test, transport)
    await enqueue(mail)
    await until(
      async () => transport.sent.length,
      (sent) => sent === 1,
    )
    await enqueue(mail, {}, { sendAt: new Date(clock.now() + 5_000) })
    await clock.advance(5_010)
    await until(
      async () => transport.sent.length,
      (sent) => sent === 2,
    )
  })

  it('waits as long as a transport asks for, and gives up when it throws an unrecoverable error', async (test) => {
    const transport = new RecordingTransport((_, call) =>
      call === 1 ? new RetryAfterError(7_000, 'too many requests') : new UnrecoverableError('account closed'),
    )
    const { mail, worker, clock } = await startMail(test, transport)
    const id = await enqueue(mail)
    await worker.drain()
    equal((await mail.find(id))!.sendAt.getTime(), clock.now() + 7_000)
    await clock.advance(7_000)
    await worker.drain()
    const failed = (await mail.find(id))!
    equal(failed.state, 'FAILED')
    equal(failed.lastError, 'UnrecoverableError: account closed')
  })

  it('holds mails of a provider that is paused', async (test) => {
    const transport = new RecordingTransport()
    const { mail, worker } = await startMail(test, transport)
    await worker.pause('default')
    await enqueue(mail)
    await worker.drain()
    equal(transport.sent.length, 0)
    await worker.resume('default')
    await worker.drain()
    equal(transport.sent.length, 1)
  })

  it('knows a recipient under the ASCII name of its domain', async (test) => {
    const transport = new RecordingTransport(() => [rejected('info@xn--kln-sna.example', true)])
    const { mail, worker } = await startMail(test, transport)
    const id = await enqueue(mail, { to: ['Info@Köln.example', 'ada@example.com'] })
    await worker.drain()
    match((await mail.find(id))!.lastError!, /\[accepted 2; refused 1\]/)
  })

  it('tries again for all recipients when an unknown address was rejected', async (test) => {
    const transport = new RecordingTransport(() => [rejected('who@example.com', true)])
    const { mail, worker } = await startMail(test, transport)
    const id = await enqueue(mail, three)
    await worker.drain()
    match((await mail.find(id))!.lastError!, /^MailDelayedError: \[accepted ; refused \]/)
  })

  it('hides recipients from error texts', async (test) => {
    const transport = new RecordingTransport(() => new Error('550 <ADA@example.com> is unknown'))
    const { mail, worker } = await startMail(test, transport)
    const id = await enqueue(mail)
    await worker.drain()
    match((await mail.find(id))!.lastError!, /550 <#1> is unknown/)
  })

  it('hands back a mail that a closing worker cannot wait for, without counting an attempt', async (test) => {
    const mail = await openMail(test, memoryStore())
    const transport = new RecordingTransport(() => 'hang')
    const worker = await startWorker(test, mail, transport, { drainTimeoutMs: 100, shutdownTimeoutMs: 20 })
    const id = await enqueue(mail)
    while (transport.sent.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await worker.close()
    const { state, attempts } = (await mail.find(id))!
    deepEqual({ state, attempts }, { state: 'NEW', attempts: 0 })
  })
})

describe('a mail that cannot be read', () => {
  const older = new KeyRing({ current: 'old', keys: { old: Buffer.alloc(32, 1) } })
  const newer = new KeyRing({ current: 'new', keys: { old: Buffer.alloc(32, 1), new: Buffer.alloc(32, 2) } })

  it('is tried again if only the key is missing, since another process may have it', async (test) => {
    const store = memoryStore()
    const writing = await openMail(test, store, { keyRing: newer })
    const reading = await openMail(test, store, { keyRing: older })
    const id = await enqueue(writing)
    deepEqual(await reading.claimBatch(1, 60_000), [])
    const found = (await reading.find(id))!
    equal(found.state, 'NEW')
    match(found.lastError!, /encrypted with the key "new", which is not in the key ring/)
    await rejects(reading.preview(id), { code: 'OUTBOX_MAIL_KEY_MISSING' })
  })

  it('can be read with an older key of the ring', async (test) => {
    const store = memoryStore()
    const id = await enqueue(await openMail(test, store, { keyRing: older }))
    const rotated = await openMail(test, store, { keyRing: newer })
    equal((await rotated.preview(id))!.text, 'Hello Ada')
  })

  it('is given up if it was changed', async (test) => {
    const transport = new RecordingTransport()
    const { mail, worker } = await startMail(test, transport, { keyRing: older })
    const sealed = older.seal(Buffer.from('{}'), 'another row')
    const contentType = 'application/vnd.sendoff.encrypted-mail'
    const { EventEnvelope } = await import('../../src/event/event-envelope.ts')
    const event = EventEnvelope.of({
      eventType: 'default',
      aggregateType: 'Mail',
      payloadBytes: sealed,
      contentType,
    })
    await mail.store.transaction((tx) =>
      mail.store.insert({ tx, rows: [event.toRow(false)], lease: { owner: '', ms: 0 } }),
    )
    await worker.drain()
    equal(transport.sent.length, 0)
    match((await mail.find(event.eventId))!.lastError!, /^PayloadParseError: .*cannot be decrypted/)
  })
})

describe('the options of a worker', () => {
  it('are checked', async (test) => {
    const outbox = await openMail(test, memoryStore())
    const transports = { default: new RecordingTransport() }
    const make = (options: object) => () => new MailOutboxWorker({ outbox, transports, ...options })
    throws(make({ batch: 1 }), { code: 'OUTBOX_UNKNOWN_OPTION' })
    throws(make({ transports: {} }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ transports: { default: {} } }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ outbox: {} }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ rateLimits: { default: { mails: 0 } } }), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
