import { checkOptions, having, requireOptions, text } from '../options.ts'
import type { AttachmentContent } from './mail-attachment.ts'
import { type MailAddress, mailboxOf } from './mail-address.ts'
import { TransportUnavailableError } from './mail-errors.ts'
import type { ComposedMail, MailReceipt, MailTransport, RejectedRecipient } from './mail-transport.ts'
import { isAddressFault, isPermanent, isUnavailable, type SmtpError } from './smtp-verdict.ts'

/** The part of a nodemailer transporter that is used here. Any object of this shape will do. */
export interface NodemailerTransporter {
  sendMail(mail: NodemailerMail): Promise<unknown>
  /** Connects and logs in. */
  verify?(): Promise<unknown>
}

/** A mail as `sendMail` of nodemailer takes it. */
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

/** Options of `nodemailerTransport`. */
export interface NodemailerTransportOptions {
  /**
   * A transporter from `nodemailer.createTransport()`, with pool, TLS and OAuth as you like. The transport
   * does not close it.
   */
  readonly transporter: NodemailerTransporter
  /** The name of the transport in log texts and error texts: `nodemailer`. */
  readonly name?: string
}

/** Defaults of `nodemailerTransport`. */
export const nodemailerDefaults = { name: 'nodemailer' }

/** Sends mails by SMTP, or by any other transport of nodemailer. */
export function nodemailerTransport(options: NodemailerTransportOptions): MailTransport {
  checkOptions('nodemailerTransport', options, { transporter: having('sendMail'), name: text })
  requireOptions('nodemailerTransport', options, ['transporter'])
  const { transporter, name = nodemailerDefaults.name } = options

  return {
    name,

    async send(mail) {
      try {
        return receiptOf(await transporter.sendMail(nodemailerMail(mail)), mail)
      } catch (error) {
        return receiptOfFailure(error, mail)
      }
    },

    ...(transporter.verify !== undefined && { verify: () => transporter.verify!() }),
  }
}

/** Returns the mail as nodemailer takes it. */
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
    // Whatever a message says, nodemailer reads no file or address for it.
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

interface SentInfo {
  readonly accepted?: readonly ListedAddress[]
  readonly rejected?: readonly ListedAddress[]
  readonly rejectedErrors?: readonly SmtpError[]
}

type ListedAddress = string | { readonly address: string }

function receiptOf(sent: unknown, { envelope }: ComposedMail): MailReceipt {
  const { accepted = [], rejected = [], rejectedErrors = [] } = (sent ?? {}) as SentInfo
  const errors = new Map(rejectedErrors.map((error) => [error.recipient, error]))
  const refusals = rejected.map((item) => ({ recipient: textOf(item), ...errors.get(textOf(item)) }))
  return { rejected: rejections(envelope.to, refusals, accepted.map(textOf)) }
}

// A server that refuses the sender or the content refuses every recipient.
function receiptOfFailure(thrown: unknown, { envelope }: ComposedMail): MailReceipt {
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as SmtpError
  const { rejectedErrors = [] } = error
  if (rejectedErrors.length > 0 && !rejectedErrors.every(isUnavailable)) {
    return { rejected: rejections(envelope.to, rejectedErrors, []) }
  }
  if (isUnavailable(rejectedErrors[0] ?? error)) throw new TransportUnavailableError(reasonOf(error))
  if (isPermanent(error)) return { rejected: envelope.to.map((address) => rejection(address, error)) }
  throw thrown
}

/**
 * Returns the refusals by the addresses as the mail spells them; nodemailer may spell them differently. A
 * refusal that fits no address counts only against the recipients that were not accepted.
 */
function rejections(
  addresses: readonly string[],
  refusals: readonly SmtpError[],
  accepted: readonly string[],
): readonly RejectedRecipient[] {
  const refused = new Map(refusals.map((error) => [mailboxOf(error.recipient ?? ''), error]))
  const reached = new Set(accepted.map(mailboxOf))
  const known = new Set(addresses.map(mailboxOf))
  const stray = refusals.find(({ recipient = '' }) => !known.has(mailboxOf(recipient)))
  return addresses.flatMap((address) => {
    const mailbox = mailboxOf(address)
    const error = refused.get(mailbox)
    if (error !== undefined) return [rejection(address, error)]
    if (stray === undefined || reached.has(mailbox)) return []
    return [{ address, isPermanent: false, reason: reasonOf(stray) }]
  })
}

function rejection(address: string, error: SmtpError): RejectedRecipient {
  return {
    address,
    isPermanent: isPermanent(error),
    isAddressFault: isAddressFault(error),
    reason: reasonOf(error),
  }
}

function reasonOf(error: SmtpError): string {
  return error.response ?? error.message ?? 'The server did not accept the recipient.'
}

function textOf(item: ListedAddress): string {
  return typeof item === 'string' ? item : item.address
}
