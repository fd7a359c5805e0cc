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
  /** The transaction to write in, where it is not the ambient one of this mail outbox. */
  readonly tx?: Tx
  /** A second mail with the same key is not stored, and the id of the first one is the answer. A blank one is none. */
  readonly idempotencyKey?: string
  /** Which of the worker's transports sends it, at most 64 characters: `'default'`. */
  readonly provider?: string
  /** Not before this time. */
  readonly sendAt?: Date
}

export interface MailEventSettings {
  readonly keyRing?: KeyRing
  readonly messageIdDomain?: string
  readonly maxAttachmentBytes?: number
  readonly maxRecipients?: number
}

/** What the rows of mails are about; the type of each is its provider. */
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

/** A mail in its envelope, to be written. Throws where the message or an option does not fit. */
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

// Keys often name the person that a mail is for.
function storedKey(key: string | undefined, keyRing: KeyRing | undefined): string | undefined {
  if (key === undefined || key.trim() === '') return undefined
  return keyRing === undefined ? key : keyRing.indexOf(key)
}

function domainOf({ from: { address } }: StoredMessage): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return domainToASCII(domain) || domain
}
