import { createHmac } from 'node:crypto'
import { OutboxError } from './errors.ts'

/** What Standard Webhooks has signed: the id and the time of a message, and its body. */
export interface SignedMessage {
  readonly id: string
  /** In seconds, as it stands in the header. */
  readonly timestamp: string
  readonly body: Uint8Array
}

/** The signature of a message by one secret. Throws where the secret is none. */
export function webhookSignature({ id, timestamp, body }: SignedMessage, secret: string): Buffer {
  return createHmac('sha256', webhookKey(secret)).update(`${id}.${timestamp}.`).update(body).digest()
}

/** The key that a secret stands for. */
export function webhookKey(secret: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  if (key.length > 0) return key
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'A secret of a webhook must be base64, after "whsec_" if it likes.',
  )
}
