import { anything, checkOptions, kindOf } from '../options.ts'
import { checkedAttachments, type MailAttachment, type StoredAttachment } from './mail-attachment.ts'
import {
  checkedAddress,
  checkedAddresses,
  checkHeaderText,
  type MailAddress,
  type MailAddressLike,
} from './mail-address.ts'
import { invalidMail } from './mail-errors.ts'

/** A mail to send. It needs a sender, a recipient, and a text, an HTML text or a template. */
export interface MailMessage {
  readonly from: MailAddressLike
  readonly to?: MailAddressLike | readonly MailAddressLike[]
  readonly cc?: MailAddressLike | readonly MailAddressLike[]
  /** Recipients that the other recipients do not see. */
  readonly bcc?: MailAddressLike | readonly MailAddressLike[]
  readonly replyTo?: MailAddressLike | readonly MailAddressLike[]
  readonly subject?: string
  readonly text?: string
  readonly html?: string
  /** Name of the template from which `render` makes subject and texts when the mail is sent. */
  readonly template?: string
  /** Data for the template: any JSON value. */
  readonly data?: unknown
  readonly attachments?: readonly MailAttachment[]
  /** Further headers. The outbox refuses headers that it makes from the fields above. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A checked message, as it is stored. */
export interface StoredMessage {
  readonly from: MailAddress
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly bcc: readonly MailAddress[]
  readonly replyTo: readonly MailAddress[]
  readonly subject?: string
  readonly text?: string
  readonly html?: string
  readonly template?: string
  readonly data?: unknown
  readonly attachments: readonly StoredAttachment[]
  readonly headers: Readonly<Record<string, string>>
}

/** Limits of a message. */
export interface MessageLimits {
  readonly maxAttachmentBytes: number
  readonly maxRecipients: number
}

const known = Object.fromEntries(
  [
    'from',
    'to',
    'cc',
    'bcc',
    'replyTo',
    'subject',
    'text',
    'html',
    'template',
    'data',
    'attachments',
    'headers',
  ].map((name) => [name, anything]),
)

const headerName = /^[\x21-\x39\x3b-\x7e]+$/
// The message's fields make these headers. A second one could forge the first.
const ownHeader =
  /^(?:from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|return-path|content-.*)$/i

/**
 * Returns the message as it is stored. Throws `OUTBOX_INVALID_MAIL` if it is malformed or would forge a
 * header.
 */
export function checkedMessage(message: MailMessage, limits: MessageLimits): StoredMessage {
  checkOptions('a mail', message, known)
  const { subject, text, html, template, data, headers = {} } = message
  const stored = {
    from: checkedAddress('from', message.from),
    to: checkedAddresses('to', message.to),
    cc: checkedAddresses('cc', message.cc),
    bcc: checkedAddresses('bcc', message.bcc),
    replyTo: checkedAddresses('replyTo', message.replyTo),
    ...texts({ subject, text, html, template }),
    ...(data === undefined ? {} : { data }),
    attachments: checkedAttachments(message.attachments, limits.maxAttachmentBytes),
    headers: checkedHeaders(headers),
  }
  const count = recipientsOf(stored).length
  if (count === 0) throw invalidMail('has no recipient: give it to, cc or bcc.')
  if (count > limits.maxRecipients) {
    throw invalidMail(`has ${count} recipients; at most ${limits.maxRecipients} are sent one mail.`)
  }
  if (text === undefined && html === undefined && template === undefined) {
    throw invalidMail('has nothing to say: give it text, html or a template.')
  }
  return stored
}

/** A recipient of a mail. The number, from 1 on, stands for it in texts that must not contain the address. */
export interface Recipient {
  readonly number: number
  readonly address: string
}

/** Returns all recipients of the mail, in an order that never changes. */
export function recipientsOf({
  to,
  cc,
  bcc,
}: Pick<StoredMessage, 'to' | 'cc' | 'bcc'>): readonly Recipient[] {
  const addresses = new Set([...to, ...cc, ...bcc].map(({ address }) => address))
  return Array.from(addresses, (address, index) => ({ number: index + 1, address }))
}

interface Texts {
  readonly subject?: string | undefined
  readonly text?: string | undefined
  readonly html?: string | undefined
  readonly template?: string | undefined
}

/** Returns the given texts. Each must be a string, and the subject a single line. */
export function texts(values: Texts): { readonly [Name in keyof Texts]: string } {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  for (const [name, value] of given) {
    if (name === 'subject') checkHeaderText('the subject', value)
    else if (typeof value !== 'string') throw invalidMail(`needs a string as ${name}, not ${kindOf(value)}.`)
  }
  return Object.fromEntries(given)
}

function checkedHeaders(headers: unknown): Readonly<Record<string, string>> {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw invalidMail(`needs an object of strings as headers, not ${kindOf(headers)}.`)
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!headerName.test(name)) throw invalidMail('has a header with an invalid name.')
    if (ownHeader.test(name)) throw invalidMail(`cannot be given the header "${name}": the library sets it.`)
    checkHeaderText(`header "${name}"`, value)
  }
  return { ...(headers as Record<string, string>) }
}
