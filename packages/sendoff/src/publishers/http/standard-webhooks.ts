import { createHmac } from 'node:crypto'
import { OutboxError } from '../../errors.ts'

/** The headers of Standard Webhooks: id, time, and a signature by each secret over both and the body. */
export function signatureHeaders(
  id: string,
  body: Uint8Array,
  secrets: string | readonly string[],
  now: Date,
): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const signatures = [secrets].flat().map((secret) => {
    const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body)
    return `v1,${signature.digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  if (key.length > 0) return key
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'A secret of a webhook must be base64, after "whsec_" if it likes.',
  )
}
