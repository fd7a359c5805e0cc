import { createHmac } from 'node:crypto'
import { OutboxError } from './errors.ts'

/** The parts of a message that Standard Webhooks signs: its id, its time and its body. */
export interface SignedMessage {
  readonly id: string
  /** In seconds, as in the header. */
  readonly timestamp: string
  readonly body: Uint8Array
}

/** Signs a message with one secret. Throws if the secret is not base64. */
export function webhookSignature({ id, timestamp, body }: SignedMessage, secret: string): Buffer {
  return createHmac('sha256', webhookKey(secret)).update(`${id}.${timestamp}.`).update(body).digest()
}

/** Decodes the key from a secret. */
export function webhookKey(secret: string): Buffer {
  const encoded = secret.replace(/^whsec_/, '')
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return Buffer.from(encoded, 'base64')
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'The secret of a webhook must be base64, with or without "whsec_" in front of it. ' +
      `Make one: "whsec_" + randomBytes(32).toString('base64').`,
  )
}
