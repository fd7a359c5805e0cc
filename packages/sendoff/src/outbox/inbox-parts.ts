import type { Clock } from '../clock.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import type { Logger } from '../observe/logger.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { OutboxStore } from '../store/index.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'
import type { AmbientTransactions } from '../write/ambient-transactions.ts'
import type { OutboxWriter } from '../write/outbox-writer.ts'

/** The parts of an outbox that an inbox uses. */
export interface InboxParts<Tx, StoreTx, TxOptions> {
  readonly store: OutboxStore<StoreTx>
  /** The store with a time limit on its calls. */
  readonly limited: OutboxStore<StoreTx>
  readonly transactions: AmbientTransactions<Tx, StoreTx, TxOptions>
  readonly writer: OutboxWriter<Tx, StoreTx, string | null>
  readonly codec: JsonCodec
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly recovery: StoreRecovery
  readonly tracing: Tracing | undefined
  /** How long the purge of this outbox keeps idempotency keys, in milliseconds. Infinity without a purge. */
  readonly keyRetentionMs: number
  /** Throws unless a transaction may begin now. */
  readonly requireOpen: (what: string) => void
  /** Starts an attachment with the outbox, or now if that has started. Closes it before the store. */
  readonly attach: (attachment: Attachment) => void
}

/** Something that lives as long as an outbox. */
export interface Attachment {
  start(): void
  close(): Promise<void>
}

const partsOfOutboxes = new WeakMap<object, InboxParts<never, never, never>>()

/** Lets `inboxPartsOf` find the parts of an outbox. */
export function offerInboxParts<Tx, StoreTx, TxOptions>(
  outbox: object,
  parts: InboxParts<Tx, StoreTx, TxOptions>,
): void {
  partsOfOutboxes.set(outbox, parts as unknown as InboxParts<never, never, never>)
}

/** Returns the parts of an outbox; undefined if the object is none. */
export function inboxPartsOf<Tx, StoreTx, TxOptions>(
  outbox: unknown,
): InboxParts<Tx, StoreTx, TxOptions> | undefined {
  const parts = typeof outbox === 'object' && outbox !== null ? partsOfOutboxes.get(outbox) : undefined
  return parts
}
