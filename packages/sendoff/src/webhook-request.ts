import { timingSafeEqual } from 'node:crypto'
import type { OptionCheck } from './options.ts'
import { webhookSignature } from './webhook-signature.ts'

/** Returns the body, or undefined if it is too large. It stops reading at the limit. */
export async function bodyWithin(
  maxBytes: number,
  { headers, body }: Pick<Request, 'headers' | 'body'>,
): Promise<Buffer | undefined> {
  if (body === null) return Buffer.alloc(0)
  if (Number(headers.get('content-length')) > maxBytes) {
    await body.cancel()
    return undefined
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Which signatures are accepted. */
export interface SignatureTerms {
  readonly secrets: readonly string[]
  /** How old a message may be, or how far ahead its time, in milliseconds. */
  readonly toleranceMs: number
}

/** Returns whether a message is new, and signed by Standard Webhooks with one of the secrets. */
export function isSigned(
  headers: Headers,
  body: Uint8Array,
  { secrets, toleranceMs }: SignatureTerms,
): boolean {
  const id = headers.get('webhook-id')
  const timestamp = headers.get('webhook-timestamp')
  const signatures = headers.get('webhook-signature')?.split(' ') ?? []
  const ageMs = Math.abs(Date.now() - Number(timestamp) * 1_000)
  if (id === null || timestamp === null || !(ageMs <= toleranceMs)) return false

  return secrets.some((secret) => {
    const expected = webhookSignature({ id, timestamp, body }, secret)
    return signatures.some((signature) => {
      const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
  })
}

/** Accepts secrets of signatures: at least one. */
export const secretList: OptionCheck = (value) =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((secret) => typeof secret === 'string' && secret !== '')
    ? undefined
    : 'a list of secrets'
