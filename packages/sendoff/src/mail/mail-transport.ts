import type { ComposedAttachment } from './mail-attachment.ts'
import type { MailAddress } from './mail-address.ts'

/** What takes mails out of the house. */
export interface MailTransport {
  /** For messages to people. */
  readonly name: string
  /**
   * Hands a mail over for everybody in `mail.envelope.to`, and answers who was not accepted. Throwing means that nobody was,
   * and that it is worth another attempt: after a given time with a `RetryAfterError`, never with an `UnrecoverableError`. With a
   * `TransportUnavailableError` no attempt counts, and the worker lets the transport rest for a while.
   */
  send(mail: ComposedMail, context: SendContext): Promise<MailReceipt>
  /**
   * Rejects while no mail can be sent at all, such as when the server is away or refuses the login. The worker calls it after a
   * mail has failed by a lost connection or a timeout, and while the transport rests, so that no mail is spent on trying.
   */
  verify?(context: SendContext): Promise<unknown>
}

/** A mail with its texts and attachments, ready to be sent. */
export interface ComposedMail {
  /** Of its row. */
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

/** Who gets the mail this time, whatever its headers say: those who are still without it. */
export interface MailEnvelope {
  readonly from: string
  readonly to: readonly string[]
}

/** The circumstances of one call to a transport. */
export interface SendContext {
  /** Aborts when the time is up, and when a shutdown cannot wait. */
  readonly signal: AbortSignal
}

/** The result of a mail that a transport has sent: the recipients that were not accepted. */
export interface MailReceipt {
  readonly rejected: readonly RejectedRecipient[]
}

/** A recipient that the server did not accept, and why. */
export interface RejectedRecipient {
  readonly address: string
  /** Whether no further attempt can succeed. */
  readonly isPermanent: boolean
  readonly reason: string
  /** Whether the address itself is at fault: no such mailbox, or one that takes no mail. `onRefused` is told of no others. */
  readonly isAddressFault?: boolean
}
