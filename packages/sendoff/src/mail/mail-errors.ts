import { OutboxError, RecoverableError, UnrecoverableError } from '../errors.ts'

/**
 * Recorded with a mail that some recipients' servers did not accept yet. The next attempt goes to these
 * recipients only.
 */
export class MailDelayedError extends RecoverableError {
  override readonly name = 'MailDelayedError'

  constructor(message: string) {
    super(message, undefined, 'OUTBOX_MAIL_DELAYED')
  }
}

/**
 * Recorded with a mail that some recipients will not get: a server refused them for good, or no recipient was
 * left.
 */
export class MailRefusedError extends UnrecoverableError {
  override readonly name = 'MailRefusedError'

  constructor(message: string) {
    super(message, undefined, 'OUTBOX_MAIL_REFUSED')
  }
}

/** Recorded with a mail that was sent, but not to all recipients: some are suppressed. */
export class MailSuppressedError extends UnrecoverableError {
  override readonly name = 'MailSuppressedError'

  constructor(message: string) {
    super(message, undefined, 'OUTBOX_MAIL_SUPPRESSED')
  }
}

/**
 * Thrown by a transport that cannot send any mail now: the server is away, or refuses the login. The mail
 * waits without counting an attempt, and the transport rests.
 */
export class TransportUnavailableError extends RecoverableError {
  override readonly name = 'TransportUnavailableError'
  /** How long the server asked clients to wait, in ms; undefined if it did not. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {}) {
    super(message, options, 'OUTBOX_TRANSPORT_UNAVAILABLE')
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Returns the error for a malformed mail. */
export function invalidMail(problem: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_MAIL', `The mail ${problem}`)
}
