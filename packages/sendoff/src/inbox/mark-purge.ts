import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/logger.ts'
import { OutboxPurgeScheduler } from '../purge/outbox-purge-scheduler.ts'
import type { StoreRecovery } from '../store-calls/store-recovery.ts'
import type { OutboxInbox } from '../store/index.ts'

/** Options of the purge of an inbox. */
export interface MarkPurgeOptions {
  /** How many marks one statement deletes at most. Default: 500. */
  readonly batchSize?: number
  /** How long to wait between purges, in milliseconds. Default: one hour. */
  readonly intervalMs?: number
}

/** The parts and settings of the purge of one consumer's marks. */
export interface MarkPurgeParts {
  readonly inbox: Pick<OutboxInbox<never>, 'purge'>
  readonly consumer: string
  readonly retentionMs: number
  readonly options: MarkPurgeOptions
  readonly clock: Clock
  readonly logger: Logger
  readonly recovery: StoreRecovery
}

/** Makes the scheduler that deletes the marks of a consumer after their retention, quietly. */
export function markPurge(parts: MarkPurgeParts): OutboxPurgeScheduler {
  const { inbox, consumer, retentionMs, options, clock, logger, recovery } = parts
  return new OutboxPurgeScheduler({
    ...options,
    store: {
      async purge({ limit, cursor }) {
        const batch = await inbox.purge({ consumer, olderThanMs: retentionMs, limit, cursor })
        return { deletedRows: batch.deleted, deletedIdempotencyKeys: 0, cursor: batch.cursor }
      },
    },
    clock,
    recovery,
    logger: {
      debug: (text) => logger.debug(text),
      info() {},
      warn: (text) => logger.warn(`Inbox "${consumer}": ${text}`),
      error: (text) => logger.error(`Inbox "${consumer}": ${text}`),
    },
  })
}
