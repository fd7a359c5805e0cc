import { OutboxError } from '../errors.ts'
import { payloadTooDeep } from './event-envelope.ts'
import type { JsonCodec } from './json-codec.ts'

/** Returns a payload as it is stored: as JSON text, or as a copy of its bytes. */
export function encodePayload(name: string, payload: unknown, codec: JsonCodec): string | Uint8Array {
  // We copy, because a Buffer's own slice would share its memory.
  if (payload instanceof Uint8Array) return new Uint8Array(payload)

  let json: unknown
  try {
    json = codec.toJson(payload)
  } catch (error) {
    if (isStackOverflow(error)) throw payloadTooDeep(name, error)
    throw notSerializable(name, 'It may be circular or hold a BigInt.', error)
  }
  if (typeof json !== 'string') throw notSerializable(name, 'It is undefined, a function or a symbol.')
  return json
}

// JSON.stringify recurses as deep as the payload is nested.
function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message)
}

function notSerializable(name: string, why: string, cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_PAYLOAD_NOT_SERIALIZABLE',
    `The payload of a "${name}" event cannot be written as JSON. ${why} ` +
      'Write plain data, or bytes as a Uint8Array.',
    { cause },
  )
}
