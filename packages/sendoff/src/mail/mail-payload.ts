import { OutboxError, PayloadParseError } from '../errors.ts'
import type { Row } from '../store/index.ts'
import { type KeyRing, keyIdOf, keyMissing } from './key-ring.ts'
import type { StoredMessage } from './mail-message.ts'

/** What the payload of a mail's row says. */
export interface MailPayload {
  /** The same at every attempt, so that a mail that arrives twice can be recognised. */
  readonly messageId: string
  /** Epoch milliseconds, for the header. */
  readonly date: number
  readonly message: StoredMessage
}

export interface EncodedPayload {
  readonly payload: string | Uint8Array
  readonly contentType?: string
}

const encryptedType = 'application/vnd.sendoff.encrypted-mail'

/** The payload as it is stored: JSON, or encrypted where there is a key ring. */
export function encodePayload(
  id: string,
  payload: MailPayload,
  keyRing: KeyRing | undefined,
): EncodedPayload {
  const json = jsonOf(payload)
  if (keyRing === undefined) return { payload: json }
  return { payload: keyRing.seal(Buffer.from(json), id), contentType: encryptedType }
}

function jsonOf(payload: MailPayload): string {
  try {
    return JSON.stringify(payload)
  } catch (cause) {
    throw new OutboxError(
      'OUTBOX_PAYLOAD_NOT_SERIALIZABLE',
      'The data for the template of a mail cannot be written as JSON. It may be circular or hold a BigInt.',
      { cause },
    )
  }
}

type StoredPayload = Pick<Row, 'eventId' | 'payload' | 'contentType'>

/**
 * Throws `PayloadParseError` where it cannot be read, or is readable to all and `encryptedOnly` forbids that, and
 * `OUTBOX_MAIL_KEY_MISSING` where it could be read with another key.
 */
export function decodePayload(
  row: StoredPayload,
  keyRing: KeyRing | undefined,
  encryptedOnly: boolean,
): MailPayload {
  const { eventId, payload } = row
  if (encryptedOnly && row.contentType !== encryptedType) {
    throw new PayloadParseError(
      `The mail ${eventId} is not encrypted, and only encrypted ones are read here.`,
    )
  }
  try {
    const json =
      row.contentType === encryptedType ? decrypted(eventId, payload as Uint8Array, keyRing) : payload
    const mail = JSON.parse(typeof json === 'string' ? json : Buffer.from(json).toString()) as unknown
    if (isMailPayload(mail)) return mail
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error
  }
  throw new PayloadParseError(`The payload of mail ${eventId} is not that of a mail.`)
}

function isMailPayload(value: unknown): value is MailPayload {
  const { message } = (value ?? {}) as { message?: unknown }
  return typeof message === 'object' && message !== null
}

function decrypted(id: string, payload: Uint8Array, keyRing: KeyRing | undefined): Uint8Array {
  if (keyRing === undefined) throw keyMissing(id, keyIdOf(payload))
  return keyRing.open(payload, id)
}
