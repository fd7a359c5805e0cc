import type { ComposedAttachment } from './mail-attachment.ts'
import type { MailAddress } from './mail-address.ts'

/** Hands mails over to a mail server or provider. */
export interface MailTransport {
  /** Name for log and error texts. */
  readonly name: string
  /**
   * Hands over a mail for all recipients in `mail.envelope.to`, and returns those that were not accepted. If
   * it throws, none was accepted, and the worker tries the mail again.
   *
   * With a `RetryAfterError` the next attempt comes after the given time, with an `UnrecoverableError` there
   * is none. With a `TransportUnavailableError` no attempt counts, and the worker lets the transport rest for
   * a while.
   */
  send(mail: ComposedMail, context: SendContext): Promise<MailReceipt>
  /**
   * Rejects while no mail can be sent at all, such as when the server is away or refuses the login. The
   * worker calls it after a mail failed by a lost connection or a timeout, and while the transport rests.
   * This costs no mail an attempt.
   */
  verify?(context: SendContext): Promise<unknown>
}

/** A mail with its texts and attachments, ready to be sent. */
export interface ComposedMail {
  /** Id of the mail's row. */
  readonly id: string
  readonly messageId: string
  readonly date: Date
  readonly from: MailAddress
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly replyTo: readonly MailAddress[]
  readonly subject: string
  readonly text: string | undefined
  readonly html: string | undefined
  readonly attachments: readonly ComposedAttachment[]
  readonly headers: Readonly<Record<string, string>>
  readonly envelope: MailEnvelope
}

/** Recipients of this attempt, whatever the headers say: those that have not got the mail yet. */
export interface MailEnvelope {
  readonly from: string
  readonly to: readonly string[]
}

/** The second argument of a transport's calls. */
export interface SendContext {
  /** Aborts when the time is up, and when a shutdown cannot wait. */
  readonly signal: AbortSignal
}

/** The result of handing a mail over. */
export interface MailReceipt {
  readonly rejected: readonly RejectedRecipient[]
}

/** A recipient that was not accepted. */
export interface RejectedRecipient {
  readonly address: string
  /** Whether no further attempt can succeed. */
  readonly isPermanent: boolean
  readonly reason: string
  /**
   * Whether the address itself is at fault: no such mailbox, or one that takes no mail. `onRefused` is called
   * only then.
   */
  readonly isAddressFault?: boolean
}
