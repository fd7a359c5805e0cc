import type { Pool } from 'pg'

/** The table that the old code writes to. */
export const messagesTable = `
  create table messages (
    id         bigint generated always as identity primary key,
    topic      text not null,
    key        text,
    payload    json not null,
    created_at timestamptz not null default clock_timestamp(),
    sent_at    timestamptz
  )`

/** Sends messages of the hand-written table one by one, until `signal` aborts. */
export async function relay(
  pool: Pool,
  send: (topic: string, payload: unknown) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && (await relayOne(pool, send))) continue
}

/** Sends the oldest unsent message. Returns whether there was one. */
async function relayOne(
  pool: Pool,
  send: (topic: string, payload: unknown) => Promise<void>,
): Promise<boolean> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ id: string; topic: string; payload: unknown }>(
      'select * from messages where sent_at is null order by id limit 1 for update skip locked',
    )
    const [message] = rows
    if (message !== undefined) {
      await send(message.topic, message.payload)
      await client.query('update messages set sent_at = now() where id = $1', [message.id])
    }
    await client.query('commit')
    return message !== undefined
  } finally {
    client.release()
  }
}
