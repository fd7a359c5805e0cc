import { OutboxError } from 'sendoff'
import { Refusal } from '../guard/refusal.ts'

/** A failure as a visitor sees it. */
export interface FailureAnswer {
  readonly status: number
  readonly code: string
  readonly message: string
  /** Whether the visitor has done nothing wrong. */
  readonly isOurs: boolean
}

const statuses: Readonly<Record<string, number>> = {
  OUTBOX_INVALID_CURSOR: 400,
  OUTBOX_INVALID_OPTION: 400,
  OUTBOX_INVALID_PAYLOAD: 400,
  OUTBOX_INVALID_PLAN: 400,
  OUTBOX_PAYLOAD_TOO_DEEP: 400,
  OUTBOX_PAYLOAD_TOO_LARGE: 400,
  OUTBOX_UNKNOWN_OPTION: 400,
  OUTBOX_READ_ONLY: 403,
  OUTBOX_PLAN_OVERTAKEN: 409,
  OUTBOX_STORE_CANNOT: 501,
  OUTBOX_CLOSED: 503,
  OUTBOX_SCHEMA_NOT_READY: 503,
  OUTBOX_SCHEMA_TOO_NEW: 503,
  OUTBOX_STORE_BUSY: 503,
  OUTBOX_STORE_FAILED: 503,
  OUTBOX_STORE_SILENT: 503,
}

/** Returns what a visitor is told about an error. An error of another kind keeps its text to itself. */
export function failureAnswer(error: unknown): FailureAnswer {
  if (error instanceof Refusal) {
    return { status: error.status, code: error.code, message: error.message, isOurs: error.status >= 500 }
  }
  if (error instanceof OutboxError) {
    const status = statuses[error.code] ?? 500
    return { status, code: error.code, message: error.message, isOurs: status >= 500 }
  }
  return {
    status: 500,
    code: 'INTERNAL',
    message: 'The dashboard failed. Its option "onError" gets the reason.',
    isOurs: true,
  }
}
