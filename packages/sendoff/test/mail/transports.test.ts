import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { simpleParser } from 'mailparser'
import { createTransport } from 'nodemailer'
import {
  failoverTransport,
  fileTransport,
  KeyRing,
  logTransport,
  nodemailerTransport,
} from '../../src/mail/index.ts'
import { temporaryFolder } from '../fixtures/stores.ts'
import { enqueue, startMail } from './mail-fixture.ts'
import { RecordingTransport, rejected } from './recording-transport.ts'

describe('a file transport', () => {
  it('writes a file that mail programs open', async (test) => {
    const folder = path.join(await temporaryFolder(test), 'mails')
    const transporter = createTransport({ streamTransport: true, buffer: true })
    const { mail, worker } = await startMail(test, fileTransport({ folder, transporter }))
    const id = await enqueue(mail, { html: '<b>Hello</b>' })
    await worker.drain()
    deepEqual(await readdir(folder), [`${id}.eml`])
    const parsed = await simpleParser(await readFile(path.join(folder, `${id}.eml`)))
    equal(parsed.html, '<b>Hello</b>')
    equal(parsed.messageId, `<${id}@sendoff.example>`)
  })

  it('writes JSON without nodemailer', async (test) => {
    const folder = await temporaryFolder(test)
    const { mail, worker } = await startMail(test, fileTransport({ folder }))
    const id = await enqueue(mail, { attachments: [{ filename: 'a.txt', content: 'Hi' }] })
    await worker.drain()
    const json = JSON.parse(await readFile(path.join(folder, `${id}.json`), 'utf8'))
    equal(json.subject, 'Welcome')
    deepEqual(json.attachments, [{ filename: 'a.txt', base64: 'SGk=' }])
  })

  it('fails clearly when its transporter makes no files', async (test) => {
    const folder = await temporaryFolder(test)
    const transporter = createTransport({ jsonTransport: true })
    const { mail, worker } = await startMail(test, fileTransport({ folder, transporter }))
    const id = await enqueue(mail)
    await worker.drain()
    match((await mail.find(id))!.lastError!, /makes no files/)
  })
})

describe('a log transport', () => {
  it('logs what it would have sent, without the texts', async (test) => {
    const log: string[] = []
    const { mail, worker } = await startMail(
      test,
      logTransport({ logger: { info: (line) => void log.push(line) } }),
    )
    const id = await enqueue(mail)
    await worker.drain()
    deepEqual(log, [`Mail ${id} to ada@example.com was not sent, only logged: Welcome`])
  })
})

describe('a transport of nodemailer', () => {
  it('treats a refused login as a fault of the connection', async (test) => {
    const error = Object.assign(new Error('Invalid login'), { code: 'EAUTH', responseCode: 535 })
    const transport = nodemailerTransport({ transporter: { sendMail: () => Promise.reject(error) } })
    const { mail, worker } = await startMail(test, transport)
    const id = await enqueue(mail)
    await worker.drain()
    equal((await mail.find(id))!.state, 'NEW')
  })
})

describe('a failover over several transports', () => {
  const three = { to: ['a@example.com', 'b@example.com', 'c@example.com'] }

  it('uses the first one alone while it works', async (test) => {
    const [first, second] = [new RecordingTransport(), new RecordingTransport()]
    const { mail, worker } = await startMail(test, failoverTransport([first, second]))
    await enqueue(mail)
    await worker.drain()
    deepEqual([first.sent.length, second.sent.length], [1, 0])
  })

  it('offers the next one the recipients that the one before has put off, and no refused ones', async (test) => {
    const first = new RecordingTransport(() => [
      rejected('a@example.com', false),
      rejected('b@example.com', true),
    ])
    const second = new RecordingTransport()
    const { mail, worker } = await startMail(test, failoverTransport([first, second]))
    const id = await enqueue(mail, three)
    await worker.drain()
    deepEqual(second.recipients, [['a@example.com']])
    match((await mail.find(id))!.lastError!, /\[accepted 1,3; refused 2\]/)
  })

  it('continues when one throws or hangs, and keeps the recipients that the others have reached when all do', async (test) => {
    const first = new RecordingTransport(
      (_, call) => (call === 1 ? [rejected('b@example.com', false)] : []),
      'first',
    )
    const second = new RecordingTransport(() => 'hang', 'second')
    const third = new RecordingTransport(() => new Error('no route'), 'third')
    const transport = failoverTransport([first, second, third], { timeoutMs: 50 })
    const { mail, worker, clock } = await startMail(test, transport)
    const id = await enqueue(mail, three)
    await worker.drain()
    match((await mail.find(id))!.lastError!, /\[accepted 1,3; refused \] #2 delayed: third: Error: no route/)
    await clock.advance(60_000)
    await worker.drain()
    deepEqual(first.recipients[1], ['b@example.com'])
    equal((await mail.find(id))!.state, 'SENT')
  })

  it('needs transports', () => {
    throws(() => failoverTransport([]), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => failoverTransport([{} as never]), { code: 'OUTBOX_INVALID_OPTION' })
  })
})

describe('a key ring', () => {
  const keys = { one: Buffer.alloc(32, 1), two: Buffer.alloc(32, 2) }
  const ring = new KeyRing({ current: 'one', keys })
  const plain = Buffer.from('What must stay secret')

  it('opens what it has sealed, also after another key has become the current one', () => {
    const sealed = ring.seal(plain, 'row-1')
    deepEqual(ring.open(sealed, 'row-1'), plain)
    deepEqual(new KeyRing({ current: 'two', keys }).open(sealed, 'row-1'), plain)
    equal(Buffer.from(sealed).includes('secret'), false)
  })

  it('seals the same differently each time', () => {
    equal(Buffer.from(ring.seal(plain, 'row-1')).equals(ring.seal(plain, 'row-1')), false)
  })

  it('notices every change of a bit, and every other row', () => {
    const sealed = ring.seal(plain, 'row-1')
    for (let byte = 0; byte < sealed.length; byte++) {
      const changed = Uint8Array.from(sealed)
      changed[byte]! ^= 1
      throws(() => ring.open(changed, 'row-1'), { code: /^OUTBOX_(PAYLOAD_UNREADABLE|MAIL_KEY_MISSING)$/ })
    }
    throws(() => ring.open(sealed, 'row-2'), { code: 'OUTBOX_PAYLOAD_UNREADABLE' })
    throws(() => ring.open(sealed.subarray(0, 20), 'row-1'), { code: 'OUTBOX_PAYLOAD_UNREADABLE' })
    throws(() => ring.open(new Uint8Array(), 'row-1'), { code: 'OUTBOX_PAYLOAD_UNREADABLE' })
  })

  it('needs whole keys, the current one among them', () => {
    const make = (options: object) => () => new KeyRing(options as never)
    throws(make({ current: 'three', keys }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ current: 'one', keys: { one: Buffer.alloc(16) } }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ current: 'one' }), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
