import type { Clock } from '../clock.ts'
import { maxPayloadBytes } from '../event/event-envelope.ts'
import type { Logger } from '../observe/logger.ts'
import {
  callable,
  checkOptions,
  count,
  durationOrZero,
  flag,
  having,
  invalidOption,
  type OptionCheck,
  requireOptions,
} from '../options.ts'
import type { OutboxStore } from '../store/index.ts'
import type { SqlTx, TransactionOptions, Transactions } from '../transactions.ts'
import type { ComposeOptions } from './compose-mail.ts'
import { KeyRing } from './key-ring.ts'

/** Options of `MailOutbox`. */
export interface MailOutboxOptions<Tx, StoreTx, TxOptions = TransactionOptions> extends ComposeOptions {
  /** A store made for a table of its own, such as `postgresStore({ client, table: 'mail_outbox' })`. */
  readonly store: OutboxStore<StoreTx>
  /** Transactions of an ORM or a driver; the store's own where left out. */
  readonly transactions?: Transactions<Tx, StoreTx | SqlTx, TxOptions>
  /** Encrypts what mails say and whom they go to. They are stored readable where left out. */
  readonly keyRing?: KeyRing
  /** Takes a mail that is stored readable for a forged one, which FAILED at once: false, for mails from before the key ring. */
  readonly encryptedOnly?: boolean
  /** What stands behind the @ of every `Message-ID`: the domain of the sender. */
  readonly messageIdDomain?: string
  /** How much of attachments is stored with a mail, all of its together: 512 KiB; 720 KiB at the most. */
  readonly maxAttachmentBytes?: number
  /** 100; 500 at the most. */
  readonly maxRecipients?: number
  /** Where faults are reported; `false` for nowhere. Warnings and errors go to standard error by default. */
  readonly logger?: Logger | false
  /** The time of the mail outbox: the clock of the machine. */
  readonly clock?: Clock
}

// What became of each has to find room in the text of one error.
/** The value of each option of a `MailOutbox` that is left out. */
export const mailOutboxDefaults = { encryptedOnly: false, maxAttachmentBytes: 524_288, maxRecipients: 100 }

const mostRecipients = 500
// In Base64 they have to find room in the payload of a row, beside 64 KiB of texts.
const mostAttachmentBytes = ((maxPayloadBytes - 65_536) * 3) / 4

const domain: OptionCheck = (value) =>
  typeof value === 'string' && /^[a-z0-9.-]+$/i.test(value) ? undefined : 'a domain name'

const checks: Readonly<Record<keyof MailOutboxOptions<never, never>, OptionCheck>> = {
  store: having('claim', 'insert', 'settle', 'transaction'),
  transactions: having('transaction', 'storeTx'),
  keyRing: (value) => (value instanceof KeyRing ? undefined : 'a KeyRing'),
  messageIdDomain: domain,
  encryptedOnly: flag,
  maxAttachmentBytes: (value) =>
    durationOrZero(value) === undefined && (value as number) <= mostAttachmentBytes
      ? undefined
      : `a number of bytes, at most ${mostAttachmentBytes}; larger attachments are given by reference`,
  maxRecipients: (value) =>
    count(value) ?? ((value as number) > mostRecipients ? `at most ${mostRecipients}` : undefined),
  render: callable,
  resolveAttachment: callable,
  logger: (value) => (value === false ? undefined : having('debug', 'info', 'warn', 'error')(value)),
  clock: having('now', 'monotonic', 'schedule'),
}

export function checkMailOutboxOptions(options: object): void {
  checkOptions('MailOutbox', options, checks)
  requireOptions('MailOutbox', options, ['store'])
  const { keyRing, encryptedOnly } = options as Partial<MailOutboxOptions<never, never>>
  if (encryptedOnly === true && keyRing === undefined) {
    throw invalidOption('MailOutbox', 'encryptedOnly', true, () => 'left out where there is no keyRing')
  }
}
