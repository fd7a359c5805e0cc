import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  failoverTransport,
  mailRetries,
  type MailOutboxWorker,
  MailOutboxWorker as Worker,
  nodemailerTransport,
  type Suppressions,
} from '../../src/mail/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { FakeClock } from '../../src/testing/index.ts'
import { type AnyMailOutbox, enqueue, openMail, startMail } from './mail-fixture.ts'
import { RecordingTransport } from './recording-transport.ts'
import { TestSmtpServer } from './smtp-server.ts'

const soon = 15

class Log {
  readonly lines: string[] = []
  debug(): void {}
  info(line: string): void {
    this.lines.push(`info ${line}`)
  }
  warn(line: string): void {
    this.lines.push(`warn ${line}`)
  }
  error(line: string): void {
    this.lines.push(`error ${line}`)
  }
}

/** Lets more time pass than all attempts at a mail take. */
async function pass(worker: MailOutboxWorker<any, any>, clock: FakeClock, minutes = 25): Promise<void> {
  for (let passed = 0; passed < minutes; passed += 5) {
    await worker.drain()
    await clock.advance(300_000)
  }
  await worker.drain()
}

async function states(mail: AnyMailOutbox, ids: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(ids.map((id) => mail.find(id)))
  return found.map((each) => `${each!.state} ${each!.attempts}`)
}

async function several(mail: AnyMailOutbox): Promise<readonly string[]> {
  return [await enqueue(mail), await enqueue(mail), await enqueue(mail)]
}

// Five attempts are over after four minutes.
const retryPolicy = mailRetries(5, [60_000])

describe('a transport that cannot send', { concurrency: true }, () => {
  it('costs no mail an attempt while its login is refused, is logged once, and is then used again', async (test) => {
    let isRight = false
    const smtp = await TestSmtpServer.start(test, { onLogin: () => isRight })
    const log = new Log()
    const refused: string[] = []
    const transport = smtp.transport(test, { auth: { user: 'me', pass: 'secret' } })
    const { mail, worker, clock } = await startMail(test, transport, {
      retryPolicy,
      logger: log,
      onRefused: ({ address }) => refused.push(address),
    })
    const ids = await several(mail)
    await pass(worker, clock)
    deepEqual(await states(mail, ids), ['NEW 0', 'NEW 0', 'NEW 0'])
    equal(log.lines.filter((line) => line.startsWith('warn')).length, 1)
    match(log.lines[0]!, /^warn The transport of "default" \(nodemailer\) cannot be used.*535/)
    deepEqual(refused, [])

    isRight = true
    await pass(worker, clock, soon)
    deepEqual(await states(mail, ids), ['SENT 0', 'SENT 0', 'SENT 0'])
    equal(smtp.received.length, 3)
    match(log.lines.at(-1)!, /^info .* can be used again\.$/)
  })

  it('costs no mail an attempt if the login is missing', async (test) => {
    const smtp = await TestSmtpServer.start(test, { onLogin: () => true })
    const refused: string[] = []
    const { mail, worker, clock } = await startMail(test, smtp.transport(test), {
      retryPolicy,
      onRefused: ({ address }) => refused.push(address),
    })
    const ids = await several(mail)
    await pass(worker, clock)
    deepEqual(await states(mail, ids), ['NEW 0', 'NEW 0', 'NEW 0'])
    deepEqual(refused, [])
    match((await mail.find(ids[0]!))!.lastError!, /530|outage/)
  })

  it('costs no mail an attempt while its server is down, however long that takes', async (test) => {
    const gone = await TestSmtpServer.start(test)
    const transport = gone.transport(test)
    await gone.stop()
    const { mail, worker, clock } = await startMail(test, transport, { retryPolicy })
    const ids = await several(mail)
    await pass(worker, clock)
    deepEqual(await states(mail, ids), ['NEW 0', 'NEW 0', 'NEW 0'])

    const back = await TestSmtpServer.start(test, { port: gone.port })
    await pass(worker, clock, soon)
    deepEqual(await states(mail, ids), ['SENT 0', 'SENT 0', 'SENT 0'])
    equal(back.received.length, 3)
  })

  it('costs no mail an attempt while its server accepts no mail at all', async (test) => {
    const smtp = await TestSmtpServer.start(test, { onSender: () => '421 4.3.2 Down for maintenance' })
    const { mail, worker, clock } = await startMail(test, smtp.transport(test), { retryPolicy })
    const ids = await several(mail)
    await pass(worker, clock)
    deepEqual(await states(mail, ids), ['NEW 0', 'NEW 0', 'NEW 0'])
  })

  it('costs a mail one attempt at most if connections are lost before the server replies', async (test) => {
    let verified = 0
    const lost = Object.assign(new Error('Connection closed unexpectedly'), {
      code: 'ECONNECTION',
      command: 'CONN',
    })
    const transport = nodemailerTransport({
      transporter: {
        sendMail: () => Promise.reject(lost),
        verify: () => (verified++, Promise.reject(lost)),
      },
    })
    const { mail, worker, clock } = await startMail(test, transport, { retryPolicy })
    const ids = await several(mail)
    await pass(worker, clock)
    for (const state of await states(mail, ids)) match(state, /^NEW [01]$/)
    ok(verified > 3)
  })

  it('gets one try at a time while it rests', async (test) => {
    const gone = await TestSmtpServer.start(test)
    await gone.stop()
    const transport = gone.transport(test)
    let tries = 0
    const counting = {
      ...transport,
      send: (...args: Parameters<typeof transport.send>) => (tries++, transport.send(...args)),
      verify: () => (tries++, transport.verify!({ signal: new AbortController().signal })),
    }
    const { mail, worker, clock } = await startMail(test, counting, { retryPolicy })
    for (let number = 0; number < 50; number++) await enqueue(mail)
    await pass(worker, clock, 60)
    // Five at once to begin with, then one for each rest: 5, 10, 20 s … and every 5 min.
    ok(tries < 30, `${tries} tries`)
  })

  it('is a failover only when all of its transports are away', async (test) => {
    const gone = await TestSmtpServer.start(test)
    await gone.stop()
    const smtp = await TestSmtpServer.start(test)
    const both = failoverTransport([gone.transport(test), smtp.transport(test)])
    const first = await startMail(test, both)
    await several(first.mail)
    await first.worker.drain()
    equal(smtp.received.length, 3)

    const none = failoverTransport([gone.transport(test), gone.transport(test)])
    const { mail, worker, clock } = await startMail(test, none, { retryPolicy })
    const ids = await several(mail)
    await pass(worker, clock)
    deepEqual(await states(mail, ids), ['NEW 0', 'NEW 0', 'NEW 0'])
  })
})

describe('a suppression list that cannot be read', () => {
  it('costs no mail an attempt, is logged once, and mails are sent when it is back', async (test) => {
    let isAway = true
    const suppressions: Suppressions = {
      find: async (addresses) => {
        if (isAway) throw new Error(`no connection to ask about ${addresses.join()}`)
        return new Map()
      },
    }
    const log = new Log()
    const transport = new RecordingTransport()
    const { mail, worker, clock } = await startMail(test, transport, {
      suppressions,
      logger: log,
      retryPolicy,
    })
    const ids = await several(mail)
    await pass(worker, clock)
    deepEqual(await states(mail, ids), ['NEW 0', 'NEW 0', 'NEW 0'])
    equal(log.lines.length, 1)
    match(log.lines[0]!, /^warn The suppression list cannot be used.*ask about #1$/)
    match((await mail.find(ids[0]!))!.lastError!, /ask about #1|outage/)

    isAway = false
    await pass(worker, clock, soon)
    deepEqual(await states(mail, ids), ['SENT 0', 'SENT 0', 'SENT 0'])
    equal(transport.sent.length, 3)
  })
})

describe('a worker without the transport of a mail', () => {
  it('leaves it to a worker that has it', async (test) => {
    const store = memoryStore()
    const mail = await openMail(test, store)
    const [old, added] = [new RecordingTransport(), new RecordingTransport()]
    const before = new Worker({ outbox: mail, transports: { default: old }, logger: false })
    await before.start()
    test.after(() => before.close())
    const id = await enqueue(mail, {}, { provider: 'added' })
    await before.drain()
    equal((await mail.find(id))!.state, 'NEW')
    await before.close()

    const after = new Worker({ outbox: mail, transports: { default: old, added }, logger: false })
    await after.start()
    test.after(() => after.close())
    const other = await enqueue(mail, {}, { provider: 'added' })
    await after.drain()
    equal((await mail.find(other))!.state, 'SENT')
    equal((await mail.find(id))!.state, 'SENT')
    equal(added.sent.length, 2)
    equal((await mail.failed()).length, 0)
  })
})
