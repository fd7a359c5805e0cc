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

export function invalidMail(problem: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_MAIL', `The mail ${problem}`)
}
