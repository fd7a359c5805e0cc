import type { PoolClient } from 'pg'
import type { JobWithMetadata, PgBoss } from 'pg-boss'
import { EventEnvelope, type EventWriter } from 'sendoff'

/** Where jobs come from, and where they go. */
export interface Move {
  readonly boss: PgBoss
  /** On the database of pg-boss: a job and its event change in one transaction. */
  readonly outbox: EventWriter<PoolClient>
  readonly queue: string
  readonly batchSize: number
}

/**
 * Moves up to `batchSize` jobs that no worker of pg-boss holds, delayed ones and retries included. Returns how
 * many it moved.
 */
export async function moveJobs({ boss, outbox, queue, batchSize }: Move): Promise<number> {
  return outbox.transaction(async (tx) => {
    const db = { executeSql: (sql: string, values?: unknown[]) => tx.query(sql, values) }

    // Locks the jobs as a worker does. It passes over those that another process holds.
    const options = { batchSize, ignoreStartAfter: true, includeMetadata: true, db } as const
    const jobs = await boss.fetch<unknown>(queue, options)
    const first = jobs.find(({ blocking }) => blocking)
    if (first !== undefined)
      throw new Error(`Other jobs wait for job ${first.id}: let pg-boss end this flow.`)

    await outbox.writeAll(jobs.map(eventOf))
    const ids = jobs.map(({ id }) => id)
    if (ids.length > 0) await boss.complete(queue, ids, { movedTo: 'outbox' }, { db })
    return ids.length
  })
}

/** Returns the event of a job: the queue is its type, and the job's id its idempotency key. */
function eventOf({ id, name, data, createdOn, startAfter }: JobWithMetadata<unknown>): EventEnvelope {
  return EventEnvelope.of({
    eventType: name,
    payloadJson: JSON.stringify(data ?? null),
    idempotencyKey: `pg-boss:${id}`,
    occurredAt: createdOn,
    availableAt: startAfter > createdOn ? startAfter : createdOn,
  })
}
