import type { PoolClient } from 'pg'
import { EventEnvelope, type EventWriter } from 'sendoff'

/** Where messages come from, and where they go. */
export interface Move {
  /** On the database of the table: a message and its event change in one transaction. */
  readonly outbox: EventWriter<PoolClient>
  readonly batchSize: number
}

interface Message {
  readonly id: string
  readonly topic: string
  readonly key: string | null
  readonly payload: string
  readonly created_at: Date
}

// $1 limit. Passes over messages that the old relay has locked. If the old relay marks them in another way, such as
// by a state, leave those out here.
const take = `
  with taken as (
    update messages
       set sent_at = clock_timestamp()
     where id in (select id from messages where sent_at is null order by id limit $1 for update skip locked)
    returning id, topic, key, payload::text, created_at
  )
  select * from taken order by id`

/** Moves up to `batchSize` messages that were not sent and that no relay has locked. Returns how many. */
export async function moveMessages({ outbox, batchSize }: Move): Promise<number> {
  return outbox.transaction(async (tx) => {
    const { rows: messages } = await tx.query<Message>(take, [batchSize])
    await outbox.writeAll(messages.map(eventOf))
    return messages.length
  })
}

/** Returns the event of a message: the topic is its type, and the message's id its idempotency key. */
function eventOf({ id, topic, key, payload, created_at }: Message): EventEnvelope {
  return EventEnvelope.of({
    eventType: topic,
    payloadJson: payload,
    idempotencyKey: `messages:${id}`,
    occurredAt: created_at,
    ...(key !== null && { orderingKey: key }),
  })
}
