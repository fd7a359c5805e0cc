import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ParsedMail } from 'mailparser'
import { failoverTransport } from '../../src/mail/index.ts'
import { enqueue, startMail } from './mail-fixture.ts'
import { TestSmtpServer } from './smtp-server.ts'

const minuteMs = 60_000

describe('mails by SMTP', { concurrency: true }, () => {
  it('arrive once each, and as they were written', async (test) => {
    const smtp = await TestSmtpServer.start(test)
    const { mail, worker } = await startMail(test, smtp.transport(test))
    const id = await enqueue(mail, {
      to: ['Ada Lovelace <ada@example.com>', { name: 'Grüße, "Bob"', address: 'bob@example.com' }],
      cc: 'carol@example.com',
      bcc: 'dora@example.com',
      replyTo: 'help@sendoff.example',
      subject: 'Grüße aus der Küche ☕',
      html: '<h1>Hello</h1><img src="cid:logo">',
      attachments: [
        { filename: 'bill.txt', content: 'Total: 42' },
        { filename: 'logo.png', content: Uint8Array.of(137, 80, 78, 71, 0, 255), cid: 'logo' },
      ],
      headers: { 'X-Order': 'o-1' },
    })
    for (let number = 2; number <= 30; number++) await enqueue(mail, { subject: `Number ${number}` })
    await worker.drain()

    equal(smtp.received.length, 30)
    const { parsed, to } = smtp.received.find((received) => received.parsed.messageId === messageIdOf(id))!
    deepEqual([...to], ['ada@example.com', 'bob@example.com', 'carol@example.com', 'dora@example.com'])
    equal(parsed.subject, 'Grüße aus der Küche ☕')
    match(addressesOf(parsed, 'to'), /Ada Lovelace.*ada@example\.com.*Grüße.*bob@example\.com/)
    equal(addressesOf(parsed, 'cc'), 'carol@example.com')
    equal(JSON.stringify(parsed).includes('dora@'), false)
    equal(addressesOf(parsed, 'replyTo'), 'help@sendoff.example')
    equal(parsed.text?.trim(), 'Hello Ada')
    match(parsed.html || '', /<h1>Hello<\/h1>/)
    equal(parsed.headers.get('x-order'), 'o-1')
    deepEqual(
      parsed.attachments.map(({ filename, content }) => [filename, Buffer.from(content).toString('latin1')]),
      [
        ['logo.png', '\x89PNG\0\xff'],
        ['bill.txt', 'Total: 42'],
      ],
    )
    equal((await mail.find(id))!.state, 'SENT')
    equal((await mail.failed()).length, 0)
  })

  it('are not sent when their transaction is rolled back', async (test) => {
    const smtp = await TestSmtpServer.start(test)
    const { mail, worker } = await startMail(test, smtp.transport(test))
    const undone = mail.transaction(async () => {
      await mail.enqueue({ from: 'a@example.com', to: 'b@example.com', text: 'no' })
      throw new Error('no')
    })
    await undone.catch(() => {})
    await enqueue(mail)
    await worker.drain()
    deepEqual(
      smtp.received.map(({ parsed }) => parsed.subject),
      ['Welcome'],
    )
  })

  it('are sent once for 50 callers that retry at the same time', async (test) => {
    const smtp = await TestSmtpServer.start(test)
    const { mail, worker } = await startMail(test, smtp.transport(test))
    const keyed = { idempotencyKey: 'signup-ada' }
    await Promise.all(Array.from({ length: 50 }, () => enqueue(mail, {}, keyed)))
    await worker.drain()
    equal(smtp.received.length, 1)
  })

  it('that are greylisted are sent after the first wait', async (test) => {
    let visits = 0
    const smtp = await TestSmtpServer.start(test, {
      onRecipient: () => (++visits === 1 ? '450 4.7.1 Greylisted, come back later' : undefined),
    })
    const { mail, worker, clock } = await startMail(test, smtp.transport(test))
    const id = await enqueue(mail)
    await worker.drain()
    const waiting = (await mail.find(id))!
    equal(waiting.state, 'NEW')
    equal(waiting.attempts, 1)
    equal(waiting.sendAt.getTime(), clock.now() + minuteMs)
    match(waiting.lastError!, /^MailDelayedError: .*450 4\.7\.1 Greylisted/)

    await clock.advance(minuteMs - 1)
    await worker.drain()
    equal(smtp.received.length, 0)
    await clock.advance(1)
    await worker.drain()
    equal(smtp.received.length, 1)
    equal((await mail.find(id))!.state, 'SENT')
  })

  it('to a full mailbox are tried five times, at growing intervals, and given up', async (test) => {
    let visits = 0
    const smtp = await TestSmtpServer.start(test, {
      onRecipient: (address) => (visits++, `452 4.2.2 The mailbox of <${address}> is full`),
    })
    const { mail, worker, clock } = await startMail(test, smtp.transport(test))
    const id = await enqueue(mail)
    const waits: number[] = []
    for (;;) {
      await worker.drain()
      const { state, sendAt } = (await mail.find(id))!
      if (state !== 'NEW') break
      waits.push((sendAt.getTime() - clock.now()) / minuteMs)
      await clock.advance(sendAt.getTime() - clock.now())
    }
    deepEqual(waits, [1, 5, 15, 60])
    equal(visits, 5)
    const [failed] = await mail.failed()
    equal(failed!.attempts, 5)
    // The address itself does not belong in error texts.
    match(failed!.lastError!, /#1 delayed: 452 4\.2\.2 The mailbox of <#1> is full/)
  })

  it('are tried again only for recipients that were put off, and never for refused ones', async (test) => {
    const busy = new Set(['late@example.com'])
    const smtp = await TestSmtpServer.start(test, {
      onRecipient(address) {
        if (address === 'gone@example.com') return '550 5.1.1 No such user'
        return busy.has(address) ? '450 4.2.1 Busy' : undefined
      },
    })
    const refused: string[] = []
    const { mail, worker, clock } = await startMail(test, smtp.transport(test), {
      onRefused: ({ address, reason }) => refused.push(`${address} ${reason}`),
    })
    const id = await enqueue(mail, {
      to: ['ada@example.com', 'gone@example.com'],
      cc: 'late@example.com',
    })
    await worker.drain()
    await clock.advance(minuteMs)
    await worker.drain()
    busy.clear()
    await clock.advance(5 * minuteMs)
    await worker.drain()

    deepEqual(
      smtp.received.map(({ to }) => to),
      [['ada@example.com'], ['late@example.com']],
    )
    deepEqual(refused, ['gone@example.com 550 5.1.1 No such user'])
    const failed = (await mail.find(id))!
    equal(failed.state, 'FAILED')
    match(failed.lastError!, /^MailRefusedError: \[accepted 1,3; refused 2\]/)
    const history = await mail.attempts(id)
    match(
      history[0]!.error,
      /\[accepted 1; refused 2\] #2 refused: 550 5\.1\.1 No such user; #3 delayed: 450 4\.2\.1 Busy/,
    )
    equal(new Set(smtp.received.map(({ parsed }) => parsed.messageId)).size, 1)
  })

  it('whose content is refused are given up at once', async (test) => {
    const smtp = await TestSmtpServer.start(test, { onContent: () => '554 5.7.1 Looks like spam' })
    const { mail, worker } = await startMail(test, smtp.transport(test))
    const id = await enqueue(mail, { to: ['ada@example.com', 'bob@example.com'] })
    await worker.drain()
    const failed = (await mail.find(id))!
    equal(failed.state, 'FAILED')
    match(failed.lastError!, /\[accepted ; refused 1,2\] #1 refused: 554 5\.7\.1 Looks like spam/)
  })

  it('are tried again when the server hangs', async (test) => {
    let visits = 0
    const smtp = await TestSmtpServer.start(test, {
      onContent: () => (++visits === 1 ? 'hang' : undefined),
    })
    const { mail, worker, clock } = await startMail(test, smtp.transport(test), { sendTimeoutMs: 3_000 })
    const id = await enqueue(mail)
    await worker.drain()
    match((await mail.find(id))!.lastError!, /delayed: Error: There was no answer within 3000 ms/)
    await clock.advance(minuteMs)
    await worker.drain()
    equal((await mail.find(id))!.state, 'SENT')
    equal(smtp.received.length, 1)
  })

  it('arrive twice, and can be recognised, when the connection drops after the server has accepted one', async (test) => {
    let visits = 0
    const smtp = await TestSmtpServer.start(test, {
      onContent: () => (++visits === 1 ? 'drop' : undefined),
    })
    const { mail, worker, clock } = await startMail(test, smtp.transport(test))
    const id = await enqueue(mail)
    await worker.drain()
    equal((await mail.find(id))!.state, 'NEW')
    await clock.advance(minuteMs)
    await worker.drain()
    equal((await mail.find(id))!.state, 'SENT')
    deepEqual(
      smtp.received.map(({ parsed }) => parsed.messageId),
      [messageIdOf(id), messageIdOf(id)],
    )
  })

  it('go through the next server when the first one is away', async (test) => {
    const away = await TestSmtpServer.start(test, { onRecipient: () => '421 4.3.2 Closing for the night' })
    const smtp = await TestSmtpServer.start(test)
    const transport = failoverTransport([away.transport(test), smtp.transport(test)])
    const { mail, worker } = await startMail(test, transport)
    const id = await enqueue(mail)
    await worker.drain()
    equal(smtp.received.length, 1)
    equal((await mail.find(id))!.state, 'SENT')
  })
})

function messageIdOf(id: string): string {
  return `<${id}@sendoff.example>`
}

function addressesOf(parsed: ParsedMail, field: 'to' | 'cc' | 'replyTo'): string {
  const value = parsed[field]
  return [value]
    .flat()
    .map((each) => each?.text ?? '')
    .join(', ')
}
