import { OutboxError, type OutboxErrorCode, UnrecoverableError } from '../errors.ts'
import { kindOf } from '../options.ts'
import type { AttachmentContent, ComposedAttachment, StoredAttachment } from './mail-attachment.ts'
import { invalidMail } from './mail-errors.ts'
import { texts } from './mail-message.ts'
import type { MailPayload } from './mail-payload.ts'
import type { ComposedMail } from './mail-transport.ts'

/** Texts that `render` returns. A text that it leaves out stays as in the message. */
export interface RenderedTexts {
  readonly subject?: string
  readonly text?: string
  readonly html?: string
}

/** Fills a template, when a mail is sent or previewed. */
export type RenderTemplate = (template: string, data: unknown) => RenderedTexts | Promise<RenderedTexts>

/** Returns the content of an attachment that was given by reference. */
export type ResolveAttachment = (
  reference: string,
  attachment: { readonly mailId: string; readonly filename: string },
) => AttachmentContent | Promise<AttachmentContent>

/** Functions that fill templates and load attachments. */
export interface ComposeOptions {
  /** Fills templates: none. A mail with a template needs it. */
  readonly render?: RenderTemplate
  /** Gets the content of attachments given by reference: none. A mail with a reference needs it. */
  readonly resolveAttachment?: ResolveAttachment
}

/**
 * Returns the mail as it is sent to these recipients, with its template filled and its attachments loaded.
 * Throws `UnrecoverableError` if no further attempt can succeed.
 */
export async function composeMail(
  id: string,
  payload: MailPayload,
  recipients: readonly string[],
  options: ComposeOptions,
): Promise<ComposedMail> {
  try {
    return await compose(id, payload, recipients, options)
  } catch (error) {
    if (!(error instanceof OutboxError) || !lastingCodes.has(error.code)) throw error
    throw new UnrecoverableError(error.message, { cause: error.cause }, error.code)
  }
}

const lastingCodes: ReadonlySet<OutboxErrorCode> = new Set(['OUTBOX_INVALID_MAIL', 'OUTBOX_INVALID_OPTION'])

async function compose(
  id: string,
  { message, messageId, date }: MailPayload,
  recipients: readonly string[],
  options: ComposeOptions,
): Promise<ComposedMail> {
  const { from, to, cc, replyTo, headers } = message
  const rendered = message.template === undefined ? {} : await render(message.template, message.data, options)
  const { subject, text, html } = message
  const { subject: finalSubject = '', ...bodies } = { ...texts({ subject, text, html }), ...texts(rendered) }
  if (message.template !== undefined && !bodies.text && !bodies.html) {
    throw invalidMail(`has nothing to say: template "${message.template}" made neither text nor html.`)
  }
  const attachments = message.attachments.map((attachment) => withContent(id, attachment, options))
  return {
    id,
    messageId,
    date: new Date(date),
    from,
    to,
    cc,
    replyTo,
    subject: finalSubject,
    text: bodies.text,
    html: bodies.html,
    attachments: await Promise.all(attachments),
    headers,
    envelope: { from: from.address, to: recipients },
  }
}

async function render(template: string, data: unknown, options: ComposeOptions): Promise<RenderedTexts> {
  // A JavaScript caller's `render` may return nothing.
  if (options.render !== undefined) return (await options.render(template, data)) ?? {}
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `A mail is made from the template "${template}", but the mail outbox has no option "render" to fill it.`,
  )
}

async function withContent(
  mailId: string,
  attachment: StoredAttachment,
  { resolveAttachment }: ComposeOptions,
): Promise<ComposedAttachment> {
  if ('base64' in attachment) {
    const { base64, ...fields } = attachment
    return { ...fields, content: Buffer.from(base64, 'base64') }
  }
  const { reference, ...fields } = attachment
  if (resolveAttachment === undefined) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `Mail ${mailId} has the attachment "${fields.filename}" by reference, but the mail outbox has no option "resolveAttachment".`,
    )
  }
  const content: unknown = await resolveAttachment(reference, { mailId, filename: fields.filename })
  if (typeof content === 'string' || content instanceof Uint8Array) return { ...fields, content }
  throw invalidMail(
    `has no content for attachment "${fields.filename}": resolveAttachment returned ${kindOf(content)}.`,
  )
}
