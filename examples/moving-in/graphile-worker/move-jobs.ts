import type { PoolClient } from 'pg'
import { EventEnvelope, type EventWriter } from 'sendoff'

/** Where jobs come from, and where they go. */
export interface Move {
  /** On the database of graphile-worker: a job and its event change in one transaction. */
  readonly outbox: EventWriter<PoolClient>
  /** The identifiers of the tasks whose jobs move. */
  readonly tasks: readonly string[]
  readonly batchSize: number
}

interface Job {
  readonly id: string
  readonly task: string
  readonly queue: string | null
  readonly payload: string
  readonly created: Date
  readonly due: Date
}

// $1 tasks, $2 limit. `complete_jobs` deletes a job unless a worker holds it, and waits for a worker that is just
// about to take it. A job that a job key replaces in the meantime moves with its new payload.
// Jobs of a named queue wait until none of them runs: a queue runs one job at a time.
const take = `
  with waiting as (
    select id, task_identifier, queue_name
      from graphile_worker.jobs as job
     where task_identifier = any ($1)
       and locked_at is null
       and attempts < max_attempts
       and not exists (select from graphile_worker.jobs as running
                        where running.queue_name = job.queue_name and running.locked_at is not null)
     order by id
     limit $2
  )
  select id, task_identifier as task, queue_name as queue, payload::text,
         created_at as created, greatest(created_at, run_at) as due
    from graphile_worker.complete_jobs(array(select id from waiting)) join waiting using (id)
   order by id`

/**
 * Moves up to `batchSize` jobs that no worker of graphile-worker holds, delayed ones and retries included.
 * Returns how many it moved.
 */
export async function moveJobs({ outbox, tasks, batchSize }: Move): Promise<number> {
  return outbox.transaction(async (tx) => {
    const { rows: jobs } = await tx.query<Job>(take, [tasks, batchSize])
    await outbox.writeAll(jobs.map(eventOf))
    return jobs.length
  })
}

/** Returns the event of a job: the task is its type, and the job's id its idempotency key. */
function eventOf({ id, task, queue, payload, created, due }: Job): EventEnvelope {
  return EventEnvelope.of({
    eventType: task,
    payloadJson: payload,
    idempotencyKey: `graphile-worker:${id}`,
    occurredAt: created,
    availableAt: due,
    ...(queue !== null && { orderingKey: queue }),
  })
}
