import { webhookSignature } from '../../webhook-signature.ts'

/**
 * Returns the headers of Standard Webhooks: id, time, and a signature by each secret over both and the body.
 */
export function signatureHeaders(
  id: string,
  body: Uint8Array,
  secrets: string | readonly string[],
  now: Date,
): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const signatures = [secrets].flat().map((secret) => {
    return `v1,${webhookSignature({ id, timestamp, body }, secret).toString('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
