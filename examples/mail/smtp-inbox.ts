import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type ParsedMail, simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'

export interface SmtpInboxOptions {
  /** How many mails the server puts off before it accepts one, as servers do with unknown senders. */
  readonly puttingOff: number
}

/** An SMTP server on a free port of this machine that keeps the mails it receives. */
export class SmtpInbox {
  putOff = 0
  received = 0
  readonly #server: SMTPServer
  readonly #first = Promise.withResolvers<ParsedMail>()

  private constructor({ puttingOff }: SmtpInboxOptions) {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      logger: false,
      onRcptTo: (_address, _session, answer) => {
        if (this.putOff >= puttingOff) return answer(null)
        this.putOff++
        answer(Object.assign(new Error('4.7.1 Greylisted, come back later'), { responseCode: 450 }))
      },
      onData: (stream, _session, answer) => {
        const keep = (mail: ParsedMail) => {
          this.received++
          answer(null)
          this.#first.resolve(mail)
        }
        buffer(stream)
          .then((raw) => simpleParser(raw))
          .then(keep, answer)
      },
    })
  }

  static async start(options: SmtpInboxOptions): Promise<SmtpInbox> {
    const inbox = new SmtpInbox(options)
    inbox.#server.listen(0, '127.0.0.1')
    await once(inbox.#server.server, 'listening')
    return inbox
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port
  }

  /** Resolves with the first accepted mail. */
  next(): Promise<ParsedMail> {
    return this.#first.promise
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}
