import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { OutboxError, PayloadParseError } from '../errors.ts'
import { checkOptions, having, invalidOption, type OptionCheck, requireOptions, text } from '../options.ts'

/** Options of `KeyRing`. */
export interface KeyRingOptions {
  /** Id of the key that encrypts new mails. */
  readonly current: string
  /**
   * Keys of 32 bytes by id: the current one, and older ones as long as the table holds mails encrypted with
   * them.
   */
  readonly keys: Readonly<Record<string, Uint8Array>>
  /**
   * Key of 32 bytes that hashes idempotency keys, so that the outbox finds them again although they are not
   * readable. Never change it, and use the same one in every process.
   *
   * Without it, they are hashed without a secret. A reader of the table can then test whether a guessed key
   * was used.
   */
  readonly indexKey?: Uint8Array
}

const algorithm = 'aes-256-gcm'
const format = 1
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const maxIdBytes = 64

const keys: OptionCheck = (value) =>
  having()(value) === undefined &&
  Object.entries(value as object).every(
    ([id, key]) =>
      id !== '' &&
      Buffer.byteLength(id) <= maxIdBytes &&
      key instanceof Uint8Array &&
      key.length === keyBytes,
  )
    ? undefined
    : `an object of keys, each ${keyBytes} bytes, by ids of up to ${maxIdBytes} bytes`

const indexKey: OptionCheck = (value) =>
  value instanceof Uint8Array && value.length === keyBytes ? undefined : `${keyBytes} bytes`

/**
 * Encrypts with AES-256-GCM, under the current one of several keys. The result names its key, so you can
 * replace keys while older mails remain.
 */
export class KeyRing {
  readonly #current: string
  readonly #keys: ReadonlyMap<string, Uint8Array>
  readonly #indexKey: Uint8Array | undefined

  constructor(options: KeyRingOptions) {
    checkOptions('KeyRing', options, { current: text, keys, indexKey })
    requireOptions('KeyRing', options, ['current', 'keys'])
    this.#current = options.current
    this.#keys = new Map(Object.entries(options.keys))
    this.#indexKey = options.indexKey
    if (!this.#keys.has(options.current)) {
      throw invalidOption('KeyRing', 'current', options.current, () => 'the id of one of its keys')
    }
  }

  /** Encrypts `plain`. The result opens only with the same `context`, such as the id of its row. */
  seal(plain: Uint8Array, context: string): Uint8Array {
    const id = Buffer.from(this.#current)
    const nonce = randomBytes(nonceBytes)
    const head = Buffer.concat([Uint8Array.of(format, id.length), id])
    const cipher = createCipheriv(algorithm, this.#keys.get(this.#current)!, nonce)
    cipher.setAAD(Buffer.concat([head, Buffer.from(context)]))
    const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
    return Buffer.concat([head, nonce, cipher.getAuthTag(), sealed])
  }

  /** Returns an unreadable text that is always the same for the same `text`, whichever key is current. */
  indexOf(text: string): string {
    const hash = this.#indexKey === undefined ? createHash('sha256') : createHmac('sha256', this.#indexKey)
    return `h1:${hash.update(text).digest('base64url')}`
  }

  /**
   * Decrypts. Throws `PayloadParseError` if the bytes were changed or belong to another context. Throws
   * `OUTBOX_MAIL_KEY_MISSING`, which is worth another attempt, if the key is missing.
   */
  open(sealed: Uint8Array, context: string): Uint8Array {
    const idBytes = sealed[1] ?? 0
    const body = 2 + idBytes
    if (sealed[0] !== format || sealed.length < body + nonceBytes + tagBytes) throw unreadable(context)

    const id = keyIdOf(sealed)
    const key = this.#keys.get(id)
    if (key === undefined) throw keyMissing(context, id)

    const nonce = sealed.subarray(body, body + nonceBytes)
    const tag = sealed.subarray(body + nonceBytes, body + nonceBytes + tagBytes)
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.concat([sealed.subarray(0, body), Buffer.from(context)]))
    decipher.setAuthTag(tag)
    try {
      const plain = decipher.update(sealed.subarray(body + nonceBytes + tagBytes))
      return Buffer.concat([plain, decipher.final()])
    } catch (error) {
      throw unreadable(context, error)
    }
  }
}

/** Returns the id of the key that opens these bytes of a key ring. */
export function keyIdOf(sealed: Uint8Array): string {
  return Buffer.from(sealed.subarray(2, 2 + (sealed[1] ?? 0))).toString()
}

/** Returns the error for a mail whose key is not in the key ring. */
export function keyMissing(context: string, id: string): OutboxError {
  return new OutboxError(
    'OUTBOX_MAIL_KEY_MISSING',
    `The mail ${context} is encrypted with the key "${id}", which is not in the key ring. Add it.`,
  )
}

function unreadable(context: string, cause?: unknown): PayloadParseError {
  return new PayloadParseError(
    `The mail ${context} cannot be decrypted: it was changed, or belongs to another row.`,
    { cause },
  )
}
