import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { type ParsedMail, simpleParser } from 'mailparser'
import { createTransport } from 'nodemailer'
import { SMTPServer } from 'smtp-server'
import { type MailTransport, nodemailerTransport } from '../../src/mail/index.ts'

/** A mail that the server has accepted. */
export interface ReceivedMail {
  readonly to: readonly string[]
  /** The name that the client gave itself. */
  readonly client: string
  readonly parsed: ParsedMail
  /** The mail as it came. */
  readonly raw: string
}

export interface SmtpBehaviour {
  /** Returns whether a password is right. If it is given, clients have to log in. */
  readonly onLogin?: (password: string) => boolean
  /** Like `onRecipient`, for the sender. */
  readonly onSender?: (address: string) => string | undefined
  /** Port of the server; a free one by default. */
  readonly port?: number
  /** Returns a code and a text, such as `450 4.2.1 Try again later`, if a recipient is not accepted. */
  readonly onRecipient?: (address: string) => string | undefined
  /**
   * Returns the same for the content. With `'hang'` the server never replies, with `'drop'` it accepts the
   * mail and ends the connection.
   */
  readonly onContent?: (mail: ReceivedMail) => string | undefined | Promise<string | undefined>
}

export interface SmtpTransportOptions {
  readonly socketTimeout?: number
  readonly auth?: { user: string; pass: string }
}

/** A real SMTP server on a free port, which keeps the mails it accepts. */
export class TestSmtpServer {
  readonly received: ReceivedMail[] = []
  /** All recipients that clients have named. */
  readonly recipients: string[] = []
  readonly port: number
  readonly #server: SMTPServer
  readonly #waiting = new Set<() => void>()

  private constructor(behaviour: SmtpBehaviour) {
    this.#server = new SMTPServer({
      authOptional: behaviour.onLogin === undefined,
      allowInsecureAuth: true,
      disabledCommands: ['STARTTLS'],
      logger: false,
      closeTimeout: 50,
      onAuth: ({ password }, _session, answer) => {
        if (behaviour.onLogin?.(password ?? '') === false) answer(errorOf('535 5.7.8 Wrong password'))
        else answer(null, { user: 'sendoff' })
      },
      onMailFrom: ({ address }, _session, answer) => answer(errorOf(behaviour.onSender?.(address))),
      onRcptTo: ({ address }, _session, answer) => {
        this.recipients.push(address)
        answer(errorOf(behaviour.onRecipient?.(address)))
      },
      onData: (stream, session, answer) => {
        const receive = async (raw: Buffer): Promise<void> => {
          const parsed = await simpleParser(raw)
          const to = session.envelope.rcptTo.map(({ address }) => address)
          const mail = { to, client: String(session.hostNameAppearsAs), parsed, raw: raw.toString() }
          const refusal = await behaviour.onContent?.(mail)
          if (refusal === 'hang') return
          if (refusal === undefined || refusal === 'drop') this.#keep(mail)
          if (refusal === 'drop') this.#server.connections.forEach((each) => each.close())
          else answer(errorOf(refusal))
        }
        // A mail that breaks off half-way was never accepted.
        void buffer(stream).then(receive, () => {})
      },
    })
    // Some tests are about clients that vanish.
    this.#server.on('error', () => {})
    this.port = 0
  }

  static async start(test: TestContext, behaviour: SmtpBehaviour = {}): Promise<TestSmtpServer> {
    const smtp = new TestSmtpServer(behaviour)
    const listening = smtp.#server.listen(behaviour.port ?? 0, '127.0.0.1')
    await once(listening, 'listening')
    Object.assign(smtp, { port: (listening.address() as AddressInfo).port })
    test.after(() => smtp.stop())
    return smtp
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }

  /** Returns a nodemailer transport to this server, with a pool of connections. */
  transport(test: TestContext, options: SmtpTransportOptions = {}): MailTransport {
    const transporter = createTransport({ pool: true, host: '127.0.0.1', port: this.port, ...options })
    test.after(() => transporter.close())
    return nodemailerTransport({ transporter })
  }

  /** Resolves when so many mails have been accepted. */
  async accepted(count: number): Promise<readonly ReceivedMail[]> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#waiting.add(resolve))
    return this.received
  }

  #keep(mail: ReceivedMail): void {
    this.received.push(mail)
    this.#waiting.forEach((resolve) => resolve())
    this.#waiting.clear()
  }
}

function errorOf(refusal: string | undefined): Error | null {
  if (refusal === undefined) return null
  const [code, ...words] = refusal.split(' ')
  return Object.assign(new Error(words.join(' ')), { responseCode: Number(code) })
}
