import { equal, match, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { escapeHtml, type MailMessage, MailOutbox, type MailOutboxOptions } from '../../src/mail/index.ts'
import { checkedMessage } from '../../src/mail/mail-message.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { enqueue, startMail, welcome } from './mail-fixture.ts'
import { RecordingTransport } from './recording-transport.ts'
import { TestSmtpServer } from './smtp-server.ts'

type Fault = readonly [
  options: Partial<MailOutboxOptions<any, any>>,
  message: Partial<MailMessage>,
  error: RegExp,
]

const { from, to } = welcome
const referenced = { attachments: [{ filename: 'a.txt', reference: 'a' }] }
const faults: Readonly<Record<string, Fault>> = {
  'a control character in a rendered subject': [
    { render: () => ({ subject: 'a\r\nBcc: eve@example.com', text: 'x' }) },
    { template: 'any' },
    /could forge a header/,
  ],
  'an overlong word in a rendered subject': [
    { render: () => ({ subject: 'x'.repeat(2_000), text: 'x' }) },
    { template: 'any' },
    /900 characters without a space/,
  ],
  'a template that makes nothing': [{ render: () => ({}) }, { template: 'any' }, /nothing to say/],
  'a template that returns nothing': [
    { render: () => undefined as never },
    { template: 'any' },
    /nothing to say/,
  ],
  'no render': [{}, { template: 'any' }, /no option "render"/],
  'no resolveAttachment': [{}, { text: 'x', ...referenced }, /no option "resolveAttachment"/],
  'an attachment without a content': [
    { resolveAttachment: () => undefined as never },
    { text: 'x', ...referenced },
    /returned undefined/,
  ],
}

describe('a mail that no further attempt can mend', () => {
  for (const [fault, [options, message, error]] of Object.entries(faults)) {
    it(`is given up at once: ${fault}`, async (test) => {
      const transport = new RecordingTransport()
      const { mail, worker } = await startMail(test, transport, options)
      const id = await mail.transaction(() => mail.enqueue({ from, to: to!, ...message }))
      await worker.drain()
      const found = (await mail.find(id))!
      equal(found.state, 'FAILED')
      match(found.lastError!, error)
      equal(transport.sent.length, 0)
    })
  }
})

describe('a header', () => {
  const limits = { maxAttachmentBytes: 1_000, maxRecipients: 10 }
  const long = 'x'.repeat(1_000)

  it('is refused if it cannot be broken into lines that every server accepts', () => {
    for (const message of [
      { subject: long },
      { headers: { 'X-Long': long } },
      { to: { name: long, address: 'ada@example.com' } },
      { attachments: [{ filename: long, content: '' }] },
    ] as const) {
      throws(() => checkedMessage({ ...welcome, ...message }, limits), { code: 'OUTBOX_INVALID_MAIL' })
    }
  })

  it('arrives whole and in short lines otherwise', async (test) => {
    let longest = 0
    const smtp = await TestSmtpServer.start(test, {
      onContent: ({ raw }) => {
        longest = Math.max(...raw.split('\r\n').map((line) => line.length))
        return undefined
      },
    })
    const { mail, worker } = await startMail(test, smtp.transport(test))
    const subject = 'Words and words '.repeat(200).trim()
    const umlauts = 'ü'.repeat(2_000)
    await enqueue(mail, { subject, headers: { 'X-Words': subject, 'X-Umlauts': umlauts } })
    await worker.drain()
    const { parsed } = smtp.received[0]!
    equal(parsed.subject, subject)
    equal(parsed.headers.get('x-words'), subject)
    ok(longest <= 998, `a line has ${longest} characters`)
  })
})

describe('the room for attachments', () => {
  it('is no larger than a row', () => {
    const make = (maxAttachmentBytes: number) => () =>
      new MailOutbox({ store: memoryStore(), maxAttachmentBytes })
    throws(make(737_281), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make(Infinity), { code: 'OUTBOX_INVALID_OPTION' })
    make(737_280)()
  })

  it('can be used to the full', async (test) => {
    const { mail, worker } = await startMail(test, new RecordingTransport(), { maxAttachmentBytes: 737_280 })
    const id = await enqueue(mail, {
      text: 'x'.repeat(60_000),
      attachments: [{ filename: 'a.bin', content: Buffer.alloc(737_280) }],
    })
    await worker.drain()
    equal((await mail.find(id))!.state, 'SENT')
  })
})

describe('escapeHtml', () => {
  it('makes a text harmless between tags and in attributes', () => {
    equal(
      escapeHtml(`<img src=x onerror="alert('1')"> & so on`),
      '&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; &amp; so on',
    )
  })
})
