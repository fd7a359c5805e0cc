import { OutboxError } from '../errors.ts'

/** Returns what makes the error of a broker that did not answer in time. */
export function silenceOf(name: string): (timeoutMs: number) => OutboxError {
  return (timeoutMs) =>
    new OutboxError('OUTBOX_BROKER_SILENT', `${name} did not answer within ${timeoutMs} ms.`)
}

/** Returns whether an error means that no answer came in time. */
export function isSilence(error: unknown): boolean {
  return error instanceof OutboxError && error.code === 'OUTBOX_BROKER_SILENT'
}
