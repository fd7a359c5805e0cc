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
  loggerOrFalse,
  type OptionCheck,
  requireOptions,
} from '../options.ts'
import type { OutboxStore } from '../store/index.ts'
import type { SqlTx, TransactionOptions, Transactions } from '../transactions.ts'
import type { ComposeOptions } from './compose-mail.ts'
import { KeyRing } from './key-ring.ts'

/** Options of `MailOutbox`. */
export interface MailOutboxOptions<Tx, StoreTx, TxOptions = TransactionOptions> extends ComposeOptions {
  /** Store with a table of its own, such as `postgresStore({ client, table: 'mail_outbox' })`. */
  readonly store: OutboxStore<StoreTx>
  /** Transactions of an ORM or a driver; the store's own by default. */
  readonly transactions?: Transactions<Tx, StoreTx | SqlTx, TxOptions>
  /** Encrypts messages and their recipients. By default they are stored in readable form. */
  readonly keyRing?: KeyRing
  /**
   * Treats a mail that is stored in readable form as forged: it is FAILED at once. False by default, for
   * mails older than the key ring.
   */
  readonly encryptedOnly?: boolean
  /** Domain after the @ of every `Message-ID`; the sender's domain by default. */
  readonly messageIdDomain?: string
  /**
   * Most bytes of attachments that are stored with one mail, all together: 512 KiB by default, 720 KiB at the
   * most.
   */
  readonly maxAttachmentBytes?: number
  /** Most recipients of one mail: 100 by default, 500 at the most. */
  readonly maxRecipients?: number
  /** Receives reports of faults; `false` for none. By default warnings and errors go to standard error. */
  readonly logger?: Logger | false
  /** The time of the mail outbox: the clock of the machine. */
  readonly clock?: Clock
}

// The outcomes of all recipients must fit into the text of one error.
/** Defaults of `MailOutbox`. */
export const mailOutboxDefaults = { encryptedOnly: false, maxAttachmentBytes: 524_288, maxRecipients: 100 }

const mostRecipients = 500
// In Base64 they must fit into the payload of a row, beside 64 KiB of texts.
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
  logger: loggerOrFalse,
  clock: having('now', 'monotonic', 'schedule'),
}

/** Throws `OUTBOX_INVALID_OPTION` for invalid options of a `MailOutbox`. */
export function checkMailOutboxOptions(options: object): void {
  checkOptions('MailOutbox', options, checks)
  requireOptions('MailOutbox', options, ['store'])
  const { keyRing, encryptedOnly } = options as Partial<MailOutboxOptions<never, never>>
  if (encryptedOnly === true && keyRing === undefined) {
    throw invalidOption('MailOutbox', 'encryptedOnly', true, () => 'left out where there is no keyRing')
  }
}
