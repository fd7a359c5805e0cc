import { OutboxError } from '../errors.ts'
import { checkOptions, kindOf, text } from '../options.ts'
import { checkHeaderText } from './mail-address.ts'
import { invalidMail } from './mail-errors.ts'

interface AttachmentFields {
  readonly filename: string
  /** Media type; derived from the file name by default. */
  readonly contentType?: string
  /** Name by which the HTML text shows the attachment: `<img src="cid:…">`. */
  readonly cid?: string
}

/** An attachment that is stored with the mail. */
export interface InlineAttachment extends AttachmentFields {
  readonly content: string | Uint8Array
}

/**
 * An attachment for which the store keeps only a name, such as a path or an address. `resolveAttachment`
 * loads the content when the mail is sent.
 */
export interface ReferencedAttachment extends AttachmentFields {
  readonly reference: string
}

/** An attachment of a message: stored with the mail, or given by reference. */
export type MailAttachment = InlineAttachment | ReferencedAttachment

/** An attachment as JSON holds it, with the content in Base64. */
export type StoredAttachment = AttachmentFields &
  ({ readonly base64: string } | { readonly reference: string })

/** An attachment with its content, ready to be sent. */
export interface ComposedAttachment extends AttachmentFields {
  readonly content: AttachmentContent
}

/** The content of an attachment: text or bytes. */
export type AttachmentContent = string | Uint8Array

/** Returns a content in Base64, the form in which APIs of mail providers take attachments. */
export function base64Of(content: AttachmentContent): string {
  return Buffer.from(content as string).toString('base64')
}

const known = ['filename', 'contentType', 'cid', 'content', 'reference']

/**
 * Returns attachments as they are stored. Throws if one is malformed, or if together they are larger than
 * `maxBytes`.
 */
export function checkedAttachments(value: unknown, maxBytes: number): readonly StoredAttachment[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw invalidMail(`needs a list as attachments, not ${kindOf(value)}.`)

  const attachments = value.map(storedAttachment)
  const bytes = attachments.reduce((sum, attachment) => sum + storedBytes(attachment), 0)
  if (bytes <= maxBytes) return attachments
  throw new OutboxError(
    'OUTBOX_PAYLOAD_TOO_LARGE',
    `The attachments of the mail have ${bytes} bytes; at most ${maxBytes} are stored with a mail. ` +
      'Keep large ones elsewhere, and attach them by reference.',
  )
}

function storedAttachment(attachment: MailAttachment): StoredAttachment {
  checkOptions('an attachment', attachment, Object.fromEntries(known.map((name) => [name, () => undefined])))
  const { filename, contentType, cid } = attachment
  for (const [name, value] of Object.entries({ filename, contentType, cid })) {
    if (value !== undefined || name === 'filename') checkHeaderText(`the ${name} of an attachment`, value)
  }
  const fields = {
    filename,
    ...(contentType === undefined ? {} : { contentType }),
    ...(cid === undefined ? {} : { cid }),
  }
  if ('reference' in attachment && !('content' in attachment)) {
    if (text(attachment.reference) === undefined) return { ...fields, reference: attachment.reference }
  } else if ('content' in attachment && !('reference' in attachment)) {
    const { content } = attachment
    if (typeof content === 'string' || content instanceof Uint8Array) {
      return { ...fields, base64: base64Of(content) }
    }
  }
  throw invalidMail(
    `needs either a content (a string or bytes) or a reference (a string) for attachment "${filename}".`,
  )
}

function storedBytes(attachment: StoredAttachment): number {
  return 'base64' in attachment ? Buffer.byteLength(attachment.base64, 'base64') : 0
}
