import { OutboxError } from '../errors.ts'
import {
  anything,
  checkOptions,
  count,
  duration,
  durationOrInfinity,
  flag,
  having,
  isStorable,
  type OptionCheck,
  requireOptions,
  text,
} from '../options.ts'
import type { WriterOutbox } from '../outbox/writer-outbox.ts'
import { maxConsumerLength } from '../store/index.ts'
import type { MarkPurgeOptions } from './mark-purge.ts'

/** Options of `Inbox`. */
export interface InboxOptions<Tx, StoreTx, TxOptions> {
  /**
   * The outbox in the database of the effects. The inbox uses its transactions, its store and its life. A
   * process that writes no events takes `Outbox.writerOnly({ store })`.
   */
  readonly outbox: WriterOutbox<Tx, StoreTx, TxOptions, string | null>
  /**
   * The name that marks belong to, at most 128 characters. Consumers with different names process the same
   * message independently.
   */
  readonly consumer: string
  /**
   * How long marks are kept, in milliseconds: for so long, a message that comes again is recognised. Has to
   * be longer than a broker may deliver a message again. Infinity keeps them forever. Default: 14 days.
   */
  readonly retentionMs?: number
  /** How this process deletes older marks. False leaves that to others, or to `inbox.purge()`. */
  readonly purge?: MarkPurgeOptions | false
}

/** Defaults of the options. */
export const inboxDefaults = { retentionMs: 14 * 86_400_000 }

/** Options of `inbox.process`. */
export interface ProcessOptions<Tx, TxOptions> {
  /**
   * Whether to wait while another transaction processes the same message. With false, the result is `busy`.
   * Default: true.
   */
  readonly wait?: boolean
  /**
   * The transaction to join. Default: the ambient one; if there is none, the inbox begins a transaction of
   * its own.
   */
  readonly tx?: Tx
  /** Options of the transaction if the inbox begins it, such as an isolation level. */
  readonly transaction?: TxOptions
  /** The headers of the message, in lower case. With `tracing`, its span continues the trace in these. */
  readonly headers?: Readonly<Record<string, string>>
  /** The type that the sender gave the message, for the name of its span. */
  readonly type?: string | undefined
}

/** Throws for options that no inbox can have. */
export function checkInboxOptions(options: object): void {
  checkOptions('Inbox', options, {
    outbox: anything,
    consumer: consumerName,
    retentionMs: durationOrInfinity,
    purge: anything,
  })
  const { purge = {} } = options as { readonly purge?: unknown }
  if (purge !== false) checkOptions('the purge of Inbox', purge, { batchSize: count, intervalMs: duration })
  requireOptions('Inbox', options, ['outbox', 'consumer'])
}

/** Throws for options that `process` does not have. */
export function checkProcessOptions(options: object): void {
  checkOptions('process', options, {
    wait: flag,
    tx: anything,
    transaction: anything,
    headers: having(),
    type: text,
  })
}

/** The error for something that is not an outbox. */
export function notAnOutbox(): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'Option "outbox" of Inbox must be an outbox of this package, such as Outbox.writerOnly({ store }).',
  )
}

const consumerName: OptionCheck = (value) =>
  typeof value === 'string' &&
  value !== '' &&
  value === value.trim() &&
  value.length <= maxConsumerLength &&
  isStorable(value)
    ? undefined
    : `a name of up to ${maxConsumerLength} characters without white space around it`
