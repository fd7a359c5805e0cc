import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type MailTransport, SuppressionList } from '../../src/mail/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { enqueue, startMail } from './mail-fixture.ts'
import { RecordingTransport, rejected } from './recording-transport.ts'
import { type SmtpBehaviour, TestSmtpServer } from './smtp-server.ts'

const two = { to: ['ada@example.com', 'bob@example.com'] }

/**
 * Returns the mail's state and the suppressed addresses, after one attempt with `onRefused` as documented.
 */
async function afterOne(test: TestContext, transport: MailTransport, message = {}) {
  const suppressions = new SuppressionList({ store: memoryStore() })
  await suppressions.initSchema()
  const { mail, worker } = await startMail(test, transport, {
    suppressions,
    onRefused: ({ address, reason }) => suppressions.add(address, reason),
  })
  const id = await enqueue(mail, { ...two, ...message })
  await worker.drain()
  const { state, lastError } = (await mail.find(id))!
  return { state, lastError, suppressed: (await suppressions.list()).map(({ address }) => address) }
}

async function smtp(test: TestContext, behaviour: SmtpBehaviour): Promise<MailTransport> {
  return (await TestSmtpServer.start(test, behaviour)).transport(test)
}

describe('a refusal', { concurrency: true }, () => {
  for (const reply of [
    '550 5.1.1 No such user',
    '553 5.1.3 Bad address',
    '550 5.1.10 Null MX',
    '550 5.2.1 Disabled',
  ]) {
    it(`of a recipient reaches onRefused when the address is at fault: ${reply}`, async (test) => {
      const onRecipient = (address: string) => (address.startsWith('bob') ? reply : undefined)
      const { state, suppressed } = await afterOne(test, await smtp(test, { onRecipient }))
      equal(state, 'FAILED')
      deepEqual(suppressed, ['bob@example.com'])
    })
  }

  for (const reply of [
    '554 5.7.1 Relay access denied',
    '550 5.7.1 Blocked for spam',
    '550 No',
    '550 5.1.8 Bad sender',
    '552 5.2.2 Mailbox full',
    '550 5.1.0 Rejected',
  ]) {
    it(`of a recipient does not reach onRefused when the address may be good: ${reply}`, async (test) => {
      const { state, suppressed } = await afterOne(test, await smtp(test, { onRecipient: () => reply }))
      equal(state, 'FAILED')
      deepEqual(suppressed, [])
    })
  }

  it('of the sender concerns no recipient', async (test) => {
    const transport = await smtp(test, { onSender: () => '550 5.1.1 This sender is unknown' })
    const { state, suppressed } = await afterOne(test, transport)
    equal(state, 'FAILED')
    deepEqual(suppressed, [])
  })

  it('of the content concerns no recipient', async (test) => {
    const transport = await smtp(test, { onContent: () => '554 5.1.1 Looks like spam' })
    const { state, suppressed } = await afterOne(test, transport)
    equal(state, 'FAILED')
    deepEqual(suppressed, [])
  })

  it('of a mail that is too big concerns no recipient, and is final', async (test) => {
    const transport = await smtp(test, { onContent: () => '552 5.3.4 Message too big' })
    const { state, suppressed } = await afterOne(test, transport)
    equal(state, 'FAILED')
    deepEqual(suppressed, [])
  })

  it('by another transport reaches onRefused only if the transport says that the address is at fault', async (test) => {
    const transport = new RecordingTransport(() => [
      rejected('ada@example.com', true),
      { ...rejected('bob@example.com', true), isAddressFault: true },
    ])
    const { suppressed, lastError } = await afterOne(test, transport)
    deepEqual(suppressed, ['bob@example.com'])
    match(lastError!, /refused 1,2/)
  })
})
