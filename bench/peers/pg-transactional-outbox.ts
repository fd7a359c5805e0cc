import { randomUUID } from 'node:crypto'
import { type OrderPayload, payloadOf } from '../bench-event.ts'
import { withClient } from '../stores/postgres/postgres-server.ts'
import type { Peer } from './peer.ts'

const table = 'messages'
const publication = 'messages_publication'
const slot = 'sendoff_bench_messages'

/**
 * pg-transactional-outbox, which reads the write-ahead log here, because its polling is slower. One process
 * at a time can read a slot.
 */
export const pgTransactionalOutbox: Peer = {
  name: 'pg-transactional-outbox',
  maxEvents: 10_000,
  singleProcess: true,
  leftSql: `select count(*) from ${table} where processed_at is null`,

  async setUp(url) {
    const { DatabaseSetup } = await import('pg-transactional-outbox')
    const { pathname, username } = new URL(url)
    await withClient(url, async (client) => {
      await client.query(
        DatabaseSetup.dropAndCreateTable({
          outboxOrInbox: 'outbox',
          database: pathname.slice(1),
          schema: 'public',
          table,
          listenerRole: username,
        }),
      )
      await client.query(`create publication ${publication} for table ${table} with (publish = 'insert')`)
      // An earlier measurement may have left the slot behind: its name belongs to the server, not to the
      // database.
      await client.query(
        'select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = $1',
        [slot],
      )
      await client.query(`select pg_create_logical_replication_slot('${slot}', 'pgoutput')`)
    })
  },

  async openWriter() {
    const { getDisabledLogger, initializeMessageStorage } = await import('pg-transactional-outbox')
    const store = initializeMessageStorage({ outboxOrInbox: 'outbox', settings }, getDisabledLogger())
    const write = (client: Parameters<typeof store>[1], number: number) => store(messageOf(number), client)
    return {
      write,
      async writeAll(client, first, count) {
        for (let index = 0; index < count; index++) await write(client, first + index)
      },
      async close() {},
    }
  },

  async work(url, onEvent) {
    const {
      createReplicationSemaphoreConcurrencyController,
      getDisabledLogger,
      initializeReplicationMessageListener,
    } = await import('pg-transactional-outbox')
    const connection = { connectionString: url, max: 20 }
    const [stop] = initializeReplicationMessageListener(
      {
        outboxOrInbox: 'outbox',
        dbListenerConfig: connection,
        dbHandlerConfig: connection,
        settings: { ...settings, dbPublication: publication, dbReplicationSlot: slot },
      },
      { handle: async (message) => onEvent({ payload: message.payload as OrderPayload }) },
      getDisabledLogger(),
      { concurrencyStrategy: createReplicationSemaphoreConcurrencyController(20) },
    )
    return { stop }
  },
}

const settings = {
  dbSchema: 'public',
  dbTable: table,
  enableMaxAttemptsProtection: false,
  enablePoisonousMessageProtection: false,
  messageCleanupIntervalInMs: 0,
}

function messageOf(number: number) {
  const payload = payloadOf(number)
  return {
    id: randomUUID(),
    aggregateType: 'Order',
    aggregateId: payload.orderId,
    messageType: 'OrderPlaced',
    concurrency: 'parallel' as const,
    payload,
  }
}
