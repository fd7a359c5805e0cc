/** Every code an `OutboxError` can have. `docs/errors.md` says what each means and what to do. */
export type OutboxErrorCode =
  | 'OUTBOX_BROKER_SILENT'
  | 'OUTBOX_CLOSED'
  | 'OUTBOX_COMMAND_FAILED'
  | 'OUTBOX_COMMIT_UNKNOWN'
  | 'OUTBOX_DRIVER_MISSING'
  | 'OUTBOX_DUPLICATE_EVENT_ID'
  | 'OUTBOX_DUPLICATE_LISTENER'
  | 'OUTBOX_DUPLICATE_RULE'
  | 'OUTBOX_INSIDE_TRANSACTION'
  | 'OUTBOX_INVALID_ANSWER'
  | 'OUTBOX_INVALID_CURSOR'
  | 'OUTBOX_INVALID_EVENT'
  | 'OUTBOX_INVALID_MAIL'
  | 'OUTBOX_INVALID_MAPPING'
  | 'OUTBOX_INVALID_MESSAGE'
  | 'OUTBOX_INVALID_OPTION'
  | 'OUTBOX_INVALID_PAYLOAD'
  | 'OUTBOX_INVALID_PLAN'
  | 'OUTBOX_INVALID_TABLE_NAME'
  | 'OUTBOX_LEASE_LOST'
  | 'OUTBOX_LISTENER_TIMEOUT'
  | 'OUTBOX_MAIL_DELAYED'
  | 'OUTBOX_MAIL_KEY_MISSING'
  | 'OUTBOX_MAIL_REFUSED'
  | 'OUTBOX_MAIL_SUPPRESSED'
  | 'OUTBOX_MODE_CONFLICT'
  | 'OUTBOX_NOT_STARTED'
  | 'OUTBOX_NO_ROUTE'
  | 'OUTBOX_NO_TRANSACTION'
  | 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE'
  | 'OUTBOX_PAYLOAD_TOO_DEEP'
  | 'OUTBOX_PAYLOAD_TOO_LARGE'
  | 'OUTBOX_PAYLOAD_UNREADABLE'
  | 'OUTBOX_PLAN_OVERTAKEN'
  | 'OUTBOX_POOLED_CONNECTION'
  | 'OUTBOX_PUBLISH_FAILED'
  | 'OUTBOX_PUBLISH_REFUSED'
  | 'OUTBOX_READ_ONLY'
  | 'OUTBOX_RECOVERABLE'
  | 'OUTBOX_RETRY_AFTER'
  | 'OUTBOX_ROLLED_BACK'
  | 'OUTBOX_ROUTING_CONFLICT'
  | 'OUTBOX_ROWS_HIDDEN'
  | 'OUTBOX_SCHEMA_NOT_READY'
  | 'OUTBOX_SCHEMA_TOO_NEW'
  | 'OUTBOX_SHUTDOWN'
  | 'OUTBOX_STORE_BUSY'
  | 'OUTBOX_STORE_CANNOT'
  | 'OUTBOX_STORE_FAILED'
  | 'OUTBOX_STORE_SILENT'
  | 'OUTBOX_TOO_MANY_EVENTS'
  | 'OUTBOX_TOO_MANY_LOSSES'
  | 'OUTBOX_TRANSACTION_ENDED'
  | 'OUTBOX_TRANSPORT_UNAVAILABLE'
  | 'OUTBOX_UNKNOWN_DESTINATION'
  | 'OUTBOX_UNKNOWN_OPTION'
  | 'OUTBOX_UNRECOVERABLE'
  | 'OUTBOX_UPGRADE_FAILED'
  | 'OUTBOX_VERSION_TOO_NEW'

/** The class of every error the library throws. Branch on `code`, read `cause`. */
export class OutboxError extends Error {
  override readonly name: string = 'OutboxError'
  readonly code: OutboxErrorCode

  constructor(code: OutboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** A listener throws it to ask for another attempt. Any other error has the same effect. */
export class RecoverableError extends OutboxError {
  override readonly name: string = 'RecoverableError'

  constructor(message: string, options?: ErrorOptions, code: OutboxErrorCode = 'OUTBOX_RECOVERABLE') {
    super(code, message, options)
  }
}

/** A listener throws it to ask for another attempt after `retryAfterMs` milliseconds. The attempt counts. */
export class RetryAfterError extends RecoverableError {
  override readonly name = 'RetryAfterError'
  readonly retryAfterMs: number

  constructor(retryAfterMs: number, message = `Retry after ${retryAfterMs} ms`, options?: ErrorOptions) {
    super(message, options, 'OUTBOX_RETRY_AFTER')
    this.retryAfterMs = retryAfterMs
  }
}

/** A listener throws it when no further attempt can succeed. */
export class UnrecoverableError extends OutboxError {
  override readonly name: string = 'UnrecoverableError'

  constructor(message: string, options?: ErrorOptions, code: OutboxErrorCode = 'OUTBOX_UNRECOVERABLE') {
    super(code, message, options)
  }
}

/** A stored payload or header cannot be read, or does not fit its event type's schema. */
export class PayloadParseError extends UnrecoverableError {
  override readonly name = 'PayloadParseError'

  constructor(message: string, options?: ErrorOptions) {
    super(message, options, 'OUTBOX_PAYLOAD_UNREADABLE')
  }
}

/** No listener is registered for the event's type. */
export class UnroutableEventError extends UnrecoverableError {
  override readonly name = 'UnroutableEventError'

  constructor(message: string) {
    super(message, undefined, 'OUTBOX_NO_ROUTE')
  }
}
