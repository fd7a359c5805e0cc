import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatAddress, nodemailerTransport } from '../../src/mail/index.ts'
import { checkedAddress, mailboxOf } from '../../src/mail/mail-address.ts'
import { enqueue, startMail } from './mail-fixture.ts'
import { TestSmtpServer } from './smtp-server.ts'

const invalid = { code: 'OUTBOX_INVALID_MAIL' }

describe('an address', () => {
  it('is checked quickly, however long and strange the text is', () => {
    const texts = [
      `${' '.repeat(100_000)}x`,
      `a${' '.repeat(5_000)}<`,
      `${'"'.repeat(50_000)}<a@b.example>`,
      `${'a'.repeat(100_000)}@b.example`,
      `a@${'b-'.repeat(100_000)}`,
      `a@${'b.'.repeat(100_000)}`,
      `${'<'.repeat(100_000)}>`,
    ]
    const begin = performance.now()
    for (const text of texts) throws(() => checkedAddress('to', text), invalid)
    for (const address of texts) throws(() => checkedAddress('to', { address }), invalid)
    // Guards against a hang of many seconds; it takes a few milliseconds.
    ok(performance.now() - begin < 2_000)
  })

  it('has single dots between words, and labels that a domain can have', () => {
    for (const text of [
      'a..b@x.example',
      '.a@x.example',
      'a.@x.example',
      'a@-x.example',
      'a@x-.example',
      'a@x..example',
      `a@${'l'.repeat(64)}.example`,
      'Ada <Ada <a@x.example>',
    ]) {
      throws(() => checkedAddress('to', text), invalid, text)
    }
  })

  it('may be written with a name before it', () => {
    const parts = (text: string) => checkedAddress('to', text)
    deepEqual(parts('ada@example.com'), { address: 'ada@example.com' })
    deepEqual(parts(' <ada@example.com> '), { address: 'ada@example.com' })
    deepEqual(parts('Ada Lovelace <ada@example.com>'), { name: 'Ada Lovelace', address: 'ada@example.com' })
    deepEqual(parts('"Lovelace, Ada <3" <a.b+c@köln.example>'), {
      name: 'Lovelace, Ada <3',
      address: 'a.b+c@köln.example',
    })
  })

  it('is written with its name so that it can be read again', () => {
    equal(formatAddress({ address: 'ada@example.com' }), 'ada@example.com')
    equal(formatAddress({ name: 'A "B" \\', address: 'a@b.example' }), '"A \\"B\\" \\\\" <a@b.example>')
  })

  it('is the same mailbox with quotes around its local part', () => {
    equal(mailboxOf('"A.b"@X.example'), 'a.b@x.example')
    equal(mailboxOf('"a\\b"@x.example'), 'ab@x.example')
  })
})

describe('a recipient that nodemailer spells differently', () => {
  it('is the only one held back when it is refused', async (test) => {
    const smtp = await TestSmtpServer.start(test, {
      onRecipient: (address) => (address.startsWith('"odd') ? '550 5.1.1 No such user' : undefined),
    })
    const { createTransport } = await import('nodemailer')
    const transporter = createTransport({ pool: true, host: '127.0.0.1', port: smtp.port })
    test.after(() => transporter.close())
    // As stored by a version that accepted such addresses.
    const odd = nodemailerTransport({
      transporter: {
        sendMail: (mail) =>
          transporter.sendMail({
            ...mail,
            envelope: {
              ...mail.envelope,
              to: mail.envelope.to.map((each) => each.replace(/^odd/, '"odd..one"')),
            },
          }),
      },
    })
    const { mail, worker, clock } = await startMail(test, odd)
    const id = await enqueue(mail, { to: ['ada@example.com', 'odd@example.com', 'bob@example.com'] })
    for (let attempt = 0; attempt < 5; attempt++) {
      await worker.drain()
      await clock.advance(3_600_000)
    }
    deepEqual(
      smtp.received.map(({ to }) => to),
      [['ada@example.com', 'bob@example.com']],
    )
    match((await mail.find(id))!.lastError!, /\[accepted 1,3; refused ?\]/)
  })
})
