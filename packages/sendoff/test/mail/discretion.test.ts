import { deepEqual, doesNotMatch, equal, match, notEqual, rejects, throws } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { RetryAfterError, UnrecoverableError } from '../../src/errors.ts'
import { KeyRing, MailOutbox } from '../../src/mail/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { temporaryFolder } from '../fixtures/stores.ts'
import { enqueue, openMail, startMail } from './mail-fixture.ts'
import { RecordingTransport, rejected } from './recording-transport.ts'

const keys = { one: Buffer.alloc(32, 1), two: Buffer.alloc(32, 2) }
const keyRing = new KeyRing({ current: 'one', keys })
const message = {
  from: 'Grace Hopper <grace.hopper@navy.example>',
  to: ['Ada Lovelace <ada.l@köln.example>'],
  cc: 'bob@example.com',
  replyTo: 'desk@navy.example',
}
const personal = /ada|lovelace|bob|grace|hopper|desk/i

const texts = {
  'as it was written': '550 <ada.l@köln.example> is unknown',
  'in upper case': '550 ADA.L@KÖLN.EXAMPLE is unknown',
  'with the ASCII name of its domain': '550 ada.l@xn--kln-sna.example: unknown',
  quoted: '550 <"ada.l"@xn--kln-sna.example> is unknown',
  'in a URL': '550 see https://help.example/?rcpt=ada.l%40xn--kln-sna.example&code=1',
  'as a parameter of SMTP': '550 ORCPT=rfc822;ada.l+40xn--kln-sna.example',
  'in an encoded word': '550 =?UTF-8?B?YWRhLmxAa8O2bG4uZXhhbXBsZQ==?= is unknown',
  'in HTML': '550 ada.l&#64;example is unknown',
  'in JSON': String.raw`{"error":"ada.l\u0040example is unknown"}`,
  'without its domain': "550 User 'ada.l' is unknown",
  'in Base64': `535 ${Buffer.from('ada.l@xn--kln-sna.example').toString('base64')}`,
  'of the sender': '550 <grace.hopper@navy.example> may not send; ask grace.hopper',
  'of another recipient': '550 bob has moved to bob.new@elsewhere.example',
  'of an answer': 'reply to desk@navy.example',
  'with names': '550 "Ada Lovelace" has left, says Grace Hopper',
}

describe('an error text', () => {
  for (const [form, text] of Object.entries(texts)) {
    it(`has no address in it ${form}`, async (test) => {
      const log: string[] = []
      const line = (each: string) => void log.push(each)
      const logger = { debug: line, info: line, warn: line, error: line }
      for (const answer of [
        () => new Error(text),
        () => new UnrecoverableError('no', { cause: new Error(text) }),
        () => new RetryAfterError(1_000, text),
        () => [rejected('bob@example.com', true, text)],
      ]) {
        const { mail, worker } = await startMail(test, new RecordingTransport(answer), { keyRing, logger })
        const id = await enqueue(mail, message)
        await worker.drain()
        const { lastError } = (await mail.find(id))!
        doesNotMatch(lastError!, personal)
      }
      // An event id has letters by chance, and some spell a name.
      doesNotMatch(log.join('\n').replaceAll(/Event \w{26}/g, 'Event'), personal)
    })
  }

  it('still has the number of the recipient and the reply of the server', async (test) => {
    const transport = new RecordingTransport(() => [
      rejected('bob@example.com', true, '550 5.1.1 <bob@example.com>: no such user'),
    ])
    const { mail, worker } = await startMail(test, transport, { keyRing })
    const id = await enqueue(mail, message)
    await worker.drain()
    equal(
      (await mail.find(id))!.lastError,
      'MailRefusedError: [accepted 1; refused 2] #2 refused: 550 5.1.1 <#2>: no such user',
    )
  })

  it('has no address in it when a template, an attachment or a relay by hand has failed', async (test) => {
    const render = () => {
      throw new Error('cannot greet ada.l@köln.example')
    }
    const { mail, worker } = await startMail(test, new RecordingTransport(), { keyRing, render })
    const id = await enqueue(mail, { ...message, template: 'any' })
    await worker.drain()
    match((await mail.find(id))!.lastError!, /^Error: cannot greet #1$/)

    const byHand = await openMail(test, memoryStore(), { keyRing })
    const other = await enqueue(byHand, message)
    await byHand.claimBatch(1, 60_000)
    await byHand.recordFailure(other, 1, new TypeError('no ada.l@xn--kln-sna.example'), new Date(), true)
    equal((await byHand.find(other))!.lastError, 'TypeError: no #1')
  })
})

describe('an idempotency key', () => {
  it('is not readable under a key ring', async (test) => {
    for (const [options, isReadable] of [
      [{}, true],
      [{ keyRing }, false],
    ] as const) {
      const file = path.join(await temporaryFolder(test), 'app.db')
      const mail = new MailOutbox({ store: sqliteStore({ open: () => new DatabaseSync(file) }), ...options })
      await mail.initSchema()
      await enqueue(mail as never, {}, { idempotencyKey: 'welcome-ada' })
      await mail.close()
      equal((await readFile(file)).includes('welcome-ada'), isReadable)
    }
  })

  it('is found again by other processes, and after the keys were exchanged', async (test) => {
    for (const indexKey of [undefined, Buffer.alloc(32, 9)]) {
      const store = memoryStore()
      const ring = (current: string) =>
        new KeyRing({ current, keys, ...(indexKey !== undefined && { indexKey }) })
      const before = await openMail(test, store, { keyRing: ring('one') })
      const after = await openMail(test, store, { keyRing: ring('two') })
      const id = await enqueue(before, {}, { idempotencyKey: 'welcome-7' })
      equal(await enqueue(after, {}, { idempotencyKey: 'welcome-7' }), id)
      notEqual(await enqueue(after, {}, { idempotencyKey: 'welcome-8' }), id)
    }
  })

  it('cannot be guessed from its hash under an index key', () => {
    const keyed = new KeyRing({ current: 'one', keys, indexKey: Buffer.alloc(32, 9) })
    notEqual(keyed.indexOf('welcome-7'), keyRing.indexOf('welcome-7'))
    equal(keyed.indexOf('welcome-7'), keyed.indexOf('welcome-7'))
    throws(() => new KeyRing({ current: 'one', keys, indexKey: Buffer.alloc(16) }), {
      code: 'OUTBOX_INVALID_OPTION',
    })
  })
})

describe('a mail outbox that reads encrypted mails only', () => {
  it('gives up at once on a mail that is stored readable', async (test) => {
    const store = memoryStore()
    const readable = await openMail(test, store)
    const strict = await openMail(test, store, { keyRing, encryptedOnly: true })
    const forged = await enqueue(readable)
    const sound = await enqueue(strict)
    const claimed = await strict.claimBatch(10, 60_000)
    deepEqual(
      claimed.map(({ id }) => id),
      [sound],
    )
    const found = (await strict.find(forged))!
    equal(found.state, 'FAILED')
    match(found.lastError!, /not encrypted/)
    await rejects(strict.preview(forged), { code: 'OUTBOX_PAYLOAD_UNREADABLE' })
  })

  it('needs a key ring', () => {
    const options = { store: memoryStore(), encryptedOnly: true }
    throws(() => new MailOutbox(options), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
