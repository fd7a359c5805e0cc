import { domainToASCII } from 'node:url'
import { maxDelayMs } from '../store/rows.ts'
import { EventEnvelope } from '../event/event-envelope.ts'
import { JsonCodec } from '../event/json-codec.ts'
import { monotonicUlids } from '../event/ulid.ts'
import { anything, checkOptions, invalidOption, text } from '../options.ts'
import type { KeyRing } from './key-ring.ts'
import { checkedMessage, type MailMessage, type StoredMessage } from './mail-message.ts'
import { mailOutboxDefaults } from './mail-outbox-options.ts'
import { encodePayload } from './mail-payload.ts'

/** Options of `MailOutbox.enqueue`. */
export interface EnqueueOptions<Tx> {
  /** Transaction to write in; the ambient one of this mail outbox by default. */
  readonly tx?: Tx
  /**
   * The outbox does not store a second mail with the same key; `enqueue` then returns the id of the first. A
   * blank key counts as none.
   */
  readonly idempotencyKey?: string
  /**
   * Names the transport of the worker that sends the mail, in at most 64 characters: `'default'` by default.
   */
  readonly provider?: string
  /** Earliest time to send the mail; at once by default. */
  readonly sendAt?: Date
}

/** Settings of the mail outbox for writing mails. */
export interface MailEventSettings {
  readonly keyRing?: KeyRing
  readonly messageIdDomain?: string
  readonly maxAttachmentBytes?: number
  readonly maxRecipients?: number
}

/** Aggregate type of all mail rows. The event type of each row is its provider. */
export const mailAggregate = 'Mail'

const optionChecks = {
  tx: anything,
  idempotencyKey: (value: unknown) => (typeof value === 'string' ? undefined : 'a string'),
  provider: (value: unknown) =>
    text(value) ?? ((value as string).length > 64 ? 'at most 64 characters' : undefined),
  sendAt: (value: unknown) =>
    value instanceof Date && !Number.isNaN(value.getTime()) ? undefined : 'a valid Date',
}

const nextId = monotonicUlids()

/** Returns a mail as an event to write. Throws if the message or an option is invalid. */
export function mailEvent(
  message: MailMessage,
  options: EnqueueOptions<unknown>,
  settings: MailEventSettings,
  now: number,
): EventEnvelope {
  checkOptions('enqueue', options, optionChecks)
  const { provider = 'default', idempotencyKey, sendAt } = options
  const {
    maxAttachmentBytes = mailOutboxDefaults.maxAttachmentBytes,
    maxRecipients = mailOutboxDefaults.maxRecipients,
    keyRing,
  } = settings
  const stored = checkedMessage(message, { maxAttachmentBytes, maxRecipients })
  const id = nextId()
  if (sendAt !== undefined && sendAt.getTime() - now > maxDelayMs) {
    throw invalidOption('enqueue', 'sendAt', sendAt, () => 'within a hundred years from now')
  }
  const later = sendAt !== undefined && sendAt.getTime() > now ? sendAt : undefined
  const messageId = `<${id}@${settings.messageIdDomain ?? domainOf(stored)}>`
  const date = later?.getTime() ?? now
  const { payload, contentType } = encodePayload(id, { messageId, date, message: stored }, keyRing)
  return EventEnvelope.encoded(
    {
      eventId: id,
      eventType: provider,
      aggregateType: mailAggregate,
      contentType,
      idempotencyKey: storedKey(idempotencyKey, keyRing),
      availableAt: later,
    },
    payload,
    JsonCodec.getDefault(),
    now,
  )
}

// Keys often name the person that a mail is for, so a key ring hashes them.
function storedKey(key: string | undefined, keyRing: KeyRing | undefined): string | undefined {
  if (key === undefined || key.trim() === '') return undefined
  return keyRing === undefined ? key : keyRing.indexOf(key)
}

function domainOf({ from: { address } }: StoredMessage): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return domainToASCII(domain) || domain
}
