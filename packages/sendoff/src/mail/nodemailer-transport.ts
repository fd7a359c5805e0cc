import { checkOptions, having, requireOptions, text } from '../options.ts'
import type { AttachmentContent } from './mail-attachment.ts'
import type { MailAddress } from './mail-address.ts'
import type { ComposedMail, MailReceipt, MailTransport, RejectedRecipient } from './mail-transport.ts'

/** The part of a transporter of nodemailer that is used here; any object of this shape will do. */
export interface NodemailerTransporter {
  sendMail(mail: NodemailerMail): Promise<unknown>
}

/** What nodemailer is told of a mail. */
export interface NodemailerMail {
  messageId: string
  date: Date
  from: NodemailerAddress
  to: NodemailerAddress[]
  cc: NodemailerAddress[]
  replyTo: NodemailerAddress[]
  subject: string
  text?: string
  html?: string
  attachments: { filename: string; content: never; contentType?: string; cid?: string }[]
  headers: Record<string, string>
  envelope: { from: string; to: string[] }
  disableFileAccess: boolean
  disableUrlAccess: boolean
}

interface NodemailerAddress {
  name: string
  address: string
}

export interface NodemailerTransportOptions {
  /** Made by `nodemailer.createTransport()`, with its pool, TLS and OAuth as you like. It is not closed. */
  readonly transporter: NodemailerTransporter
  readonly name?: string
}

/** Sends by SMTP, or whatever else nodemailer was made for. */
export function nodemailerTransport(options: NodemailerTransportOptions): MailTransport {
  checkOptions('nodemailerTransport', options, { transporter: having('sendMail'), name: text })
  requireOptions('nodemailerTransport', options, ['transporter'])
  const { transporter, name = 'nodemailer' } = options

  return {
    name,

    async send(mail) {
      try {
        return receiptOf(await transporter.sendMail(nodemailerMail(mail)))
      } catch (error) {
        return receiptOfFailure(error, mail)
      }
    },
  }
}

/** The mail as nodemailer wants it. */
export function nodemailerMail(mail: ComposedMail): NodemailerMail {
  const { messageId, date, from, to, cc, replyTo, subject, text, html, headers, envelope } = mail
  return {
    messageId,
    date,
    from: named(from),
    to: to.map(named),
    cc: cc.map(named),
    replyTo: replyTo.map(named),
    subject,
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    attachments: mail.attachments.map((attachment) => ({
      ...attachment,
      content: contentFor(attachment.content) as never,
    })),
    headers: { ...headers },
    envelope: { from: envelope.from, to: [...envelope.to] },
    // Whatever a message says, no file or address is read for it.
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function named({ name = '', address }: MailAddress): NodemailerAddress {
  return { name, address }
}

function contentFor(content: AttachmentContent): unknown {
  return content instanceof Uint8Array ? Buffer.from(content) : content
}

interface SmtpError {
  readonly code?: string
  readonly message?: string
  readonly response?: string
  readonly responseCode?: number
  readonly recipient?: string
  readonly rejectedErrors?: readonly SmtpError[]
}

function receiptOf(info: unknown): MailReceipt {
  const { rejected = [], rejectedErrors = [] } = (info ?? {}) as {
    readonly rejected?: readonly (string | { readonly address: string })[]
    readonly rejectedErrors?: readonly SmtpError[]
  }
  const errors = new Map(rejectedErrors.map((error) => [error.recipient, error]))
  return {
    rejected: rejected.map((item) => {
      const address = typeof item === 'string' ? item : item.address
      return rejection(address, errors.get(address) ?? {})
    }),
  }
}

// A server that says no to the sender or to the content says it to every recipient. All else, a refused login included, is
// about the connection, and may be different next time.
function receiptOfFailure(thrown: unknown, { envelope }: ComposedMail): MailReceipt {
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as SmtpError
  if (error.rejectedErrors !== undefined && error.rejectedErrors.length > 0) {
    return { rejected: error.rejectedErrors.map((each) => rejection(each.recipient ?? '', each)) }
  }
  if ((error.code === 'EENVELOPE' || error.code === 'EMESSAGE') && isPermanent(error)) {
    return { rejected: envelope.to.map((address) => rejection(address, error)) }
  }
  throw thrown
}

function rejection(address: string, error: SmtpError): RejectedRecipient {
  const reason = error.response ?? error.message ?? 'The server did not accept the recipient.'
  return { address, isPermanent: isPermanent(error), reason }
}

function isPermanent({ responseCode = 0 }: SmtpError): boolean {
  return responseCode >= 500
}
