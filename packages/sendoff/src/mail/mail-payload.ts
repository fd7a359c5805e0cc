import { OutboxError, PayloadParseError } from '../errors.ts'
import type { Row } from '../store/index.ts'
import { type KeyRing, keyIdOf, keyMissing } from './key-ring.ts'
import type { StoredMessage } from './mail-message.ts'

/** The payload of a mail's row. */
export interface MailPayload {
  /** Same at every attempt, so that a recipient can recognise a mail that arrives twice. */
  readonly messageId: string
  /** Time for the `Date` header, in epoch ms. */
  readonly date: number
  readonly message: StoredMessage
}

/** A payload as a row stores it. */
export interface EncodedPayload {
  readonly payload: string | Uint8Array
  readonly contentType?: string
}

const encryptedType = 'application/vnd.sendoff.encrypted-mail'

/** Returns the payload as it is stored: JSON, or encrypted if there is a key ring. */
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
 * Reads a payload. Throws `PayloadParseError` if it cannot be read, or if it is not encrypted and
 * `encryptedOnly` is set. Throws `OUTBOX_MAIL_KEY_MISSING` if another key could read it.
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
