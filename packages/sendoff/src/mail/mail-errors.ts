import { OutboxError, RecoverableError, UnrecoverableError } from '../errors.ts'

/** Recorded with a mail that some recipients' servers did not take yet: they are tried again, and only they. */
export class MailDelayedError extends RecoverableError {
  override readonly name = 'MailDelayedError'

  constructor(message: string) {
    super(message, undefined, 'OUTBOX_MAIL_DELAYED')
  }
}

/** Recorded with a mail that some recipients will not get: refused for good, or nobody was left to send it to. */
export class MailRefusedError extends UnrecoverableError {
  override readonly name = 'MailRefusedError'

  constructor(message: string) {
    super(message, undefined, 'OUTBOX_MAIL_REFUSED')
  }
}

/** Recorded with a mail that was sent, though not to everybody: some recipients are suppressed. */
export class MailSuppressedError extends UnrecoverableError {
  override readonly name = 'MailSuppressedError'

  constructor(message: string) {
    super(message, undefined, 'OUTBOX_MAIL_SUPPRESSED')
  }
}

/**
 * Thrown by a transport that cannot send any mail now: the server is away, or refuses the login. The mail waits without counting an
 * attempt, and the transport rests.
 */
export class TransportUnavailableError extends RecoverableError {
  override readonly name = 'TransportUnavailableError'
  /** How long the server has asked to be left alone, where it has. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {}) {
    super(message, options, 'OUTBOX_TRANSPORT_UNAVAILABLE')
    this.retryAfterMs = options.retryAfterMs
  }
}

/** The error for a mail that is malformed. */
export function invalidMail(problem: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_MAIL', `The mail ${problem}`)
}
