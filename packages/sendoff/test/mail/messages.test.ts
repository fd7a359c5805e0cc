import { deepEqual, equal, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MailOutbox, type MailMessage } from '../../src/mail/index.ts'
import { checkedAddress } from '../../src/mail/mail-address.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { enqueue, openMail, welcome } from './mail-fixture.ts'

const injections = ['Hello\r\nBcc: eve@example.com', 'Hello\nX: y', 'Hello\rX: y', 'Hello\0', 'Hello\u0085X']

describe('a message', () => {
  const refused: Readonly<Record<string, Partial<Record<keyof MailMessage, unknown>>>> = {
    'without a sender': { from: undefined },
    'without a recipient': { to: [] },
    'without a text': { text: undefined },
    'with an unknown field': { txt: 'Hello' } as object,
    'with a text that is not a string': { html: 7 },
    'with headers that are not an object': { headers: ['x'] },
    'with a header that the library sets': { headers: { 'message-ID': '<mine@example.com>' } },
    'with a second sender among its headers': { headers: { Sender: 'eve@example.com' } },
    'with a header whose name has a colon': { headers: { 'X: y\r\nBcc': 'eve@example.com' } },
    'with an attachment that has no content': { attachments: [{ filename: 'a' }] },
    'with an attachment that has two': { attachments: [{ filename: 'a', content: 'b', reference: 'c' }] },
    'with an attachment without a name': { attachments: [{ content: 'b' }] },
  }
  for (const [what, fields] of Object.entries(refused)) {
    it(`${what} is refused, and nothing is stored`, async (test) => {
      const mail = await openMail(test, memoryStore())
      await rejects(enqueue(mail, fields as Partial<MailMessage>), {
        code: /^OUTBOX_(INVALID_MAIL|UNKNOWN_OPTION)$/,
      })
      equal(await mail.store.people!.count({}), 0)
    })
  }

  it('cannot forge headers by any field', async (test) => {
    const mail = await openMail(test, memoryStore())
    for (const injection of injections) {
      const address = { name: injection, address: 'ada@example.com' }
      const attempts: readonly Partial<MailMessage>[] = [
        { subject: injection },
        { from: address },
        { to: [address] },
        { cc: `${injection} <ada@example.com>` },
        { bcc: { address: `ada@example.com${injection}` } },
        { replyTo: `${injection}@example.com` },
        { headers: { 'X-Order': injection } },
        { attachments: [{ filename: injection, content: '' }] },
        { attachments: [{ filename: 'a', contentType: injection, content: '' }] },
        { attachments: [{ filename: 'a', cid: injection, content: '' }] },
      ]
      for (const attempt of attempts) {
        await rejects(enqueue(mail, attempt), { code: 'OUTBOX_INVALID_MAIL' }, JSON.stringify(attempt))
      }
    }
    equal(await mail.store.people!.count({}), 0)
  })

  it('can have line breaks in its texts', async (test) => {
    const mail = await openMail(test, memoryStore())
    const id = await enqueue(mail, { text: 'Dear Ada,\r\n\r\nhello' })
    equal((await mail.preview(id))!.text, 'Dear Ada,\r\n\r\nhello')
  })

  it('stores attachments up to a size, and of larger ones the reference only', async (test) => {
    const mail = await openMail(test, memoryStore(), { maxAttachmentBytes: 10 })
    const attached = (...sizes: readonly number[]) =>
      enqueue(mail, {
        attachments: sizes.map((size) => ({ filename: 'a', content: Buffer.alloc(size) })),
      })
    await attached(4, 6)
    await rejects(attached(5, 6), { code: 'OUTBOX_PAYLOAD_TOO_LARGE' })
    await enqueue(mail, { attachments: [{ filename: 'a', reference: 's3://bills/1' }] })
  })

  it('goes to a limited number of recipients, and counts each once', async (test) => {
    const mail = await openMail(test, memoryStore(), { maxRecipients: 2 })
    await enqueue(mail, { to: ['a@example.com', 'b@example.com'], cc: 'a@example.com' })
    await rejects(enqueue(mail, { to: ['a@example.com', 'b@example.com'], cc: 'c@example.com' }), {
      code: 'OUTBOX_INVALID_MAIL',
    })
  })

  it('needs options that make sense, and data that JSON can hold', async (test) => {
    const mail = await openMail(test, memoryStore())
    await rejects(enqueue(mail, {}, { sendAt: new Date(NaN) }), { code: 'OUTBOX_INVALID_OPTION' })
    await rejects(enqueue(mail, {}, { provider: 'x'.repeat(65) }), { code: 'OUTBOX_INVALID_OPTION' })
    await rejects(enqueue(mail, {}, { key: 'x' }), { code: 'OUTBOX_UNKNOWN_OPTION' })
    await rejects(enqueue(mail, { template: 'x', data: 1n }), { code: 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE' })
    await rejects(enqueue(mail, { text: 'x'.repeat(2 ** 20) }), { code: 'OUTBOX_PAYLOAD_TOO_LARGE' })
    await rejects(mail.claimBatch(0, 1_000), { code: 'OUTBOX_INVALID_OPTION' })
    await rejects(mail.claimBatch(1, Number.NaN), { code: 'OUTBOX_INVALID_OPTION' })
    equal(await mail.store.people!.count({}), 0)
  })

  it('has a Message-ID in ASCII', async (test) => {
    const mail = await openMail(test, memoryStore())
    const id = await enqueue(mail, { from: 'info@köln.example' })
    equal((await mail.preview(id))!.messageId, `<${id}@xn--kln-sna.example>`)
  })

  it('has a Message-ID in the configured domain', async (test) => {
    const mail = await openMail(test, memoryStore(), { messageIdDomain: 'mail.example.org' })
    const id = await enqueue(mail, welcome)
    equal((await mail.preview(id))!.messageId, `<${id}@mail.example.org>`)
  })
})

describe('an address', () => {
  const good: Readonly<Record<string, object>> = {
    'ada@example.com': { address: 'ada@example.com' },
    "o'neil+tag.x@mail.example.co": { address: "o'neil+tag.x@mail.example.co" },
    'Ada Lovelace <ada@example.com>': { name: 'Ada Lovelace', address: 'ada@example.com' },
    '"Lovelace, Ada" <ada@example.com>': { name: 'Lovelace, Ada', address: 'ada@example.com' },
    '<ada@example.com>': { address: 'ada@example.com' },
    'jörg@köln.example': { address: 'jörg@köln.example' },
    'root@localhost': { address: 'root@localhost' },
  }
  for (const [text, parts] of Object.entries(good)) {
    it(`accepts ${text}`, () => deepEqual(checkedAddress('to', text), parts))
  }

  const bad: readonly unknown[] = [
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@@example.com',
    'a b@example.com',
    'ada@exa mple.com',
    'ada@-example.com',
    'ada@example..com',
    'ada@example.com, bob@example.com',
    'ada@example.com>',
    'ada@example.com> SIZE=1',
    '-oQ/tmp@example.com',
    '"a b"@example.com',
    'ada@[127.0.0.1]',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b.'.repeat(130)}com`,
    7,
    null,
    { name: 'Ada' },
    { name: 7, address: 'ada@example.com' },
  ]
  for (const value of bad) {
    it(`refuses ${JSON.stringify(value)}`, () => {
      throws(() => checkedAddress('to', value), { code: 'OUTBOX_INVALID_MAIL' })
    })
  }
})

describe('the options of a mail outbox', () => {
  it('are checked', () => {
    const make = (options: object) => () => new MailOutbox(options as never)
    throws(make({}), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ store: memoryStore(), tabel: 'x' }), { code: 'OUTBOX_UNKNOWN_OPTION' })
    throws(make({ store: memoryStore(), messageIdDomain: 'a>b' }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ store: memoryStore(), maxRecipients: 501 }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ store: memoryStore(), keyRing: {} }), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
