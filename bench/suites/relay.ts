import { ListenerRegistry, Outbox } from 'sendoff'
import type { Publisher } from 'sendoff/parts'
import { OrderPlaced, orderIdOf, payloadOf } from '../bench-event.ts'
import type { BareMessage, OpenBroker, RelayBroker } from '../brokers/relay-broker.ts'
import { startWatch } from '../statistics.ts'
import type { BenchDatabases, Conditions, OnEvent, Subject } from '../store-bench.ts'
import { drainSubject, sendoffBacklog } from './drain.ts'

// What an outbox sends at once by default: four listeners with a hundred events each.
const batchesAtOnce = 4
const batchSize = 100
const warmUpMessages = 5_000

/**
 * Measures how fast a backlog is relayed to a broker, and how fast its client alone can send as many
 * messages.
 */
export function relaySubjects<Tx>(
  databases: BenchDatabases<Tx>,
  brokers: readonly RelayBroker[],
): readonly Subject[] {
  return brokers.flatMap((broker) => [relaySubject(databases, broker), limitSubject(broker)])
}

function relaySubject<Tx>(databases: BenchDatabases<Tx>, { name, service, open }: RelayBroker): Subject {
  return drainSubject({
    name: `sendoff-${name}`,
    ownLimit: `limit-${name}`,
    service,
    singleProcess: true,
    backlog: sendoffBacklog(databases),

    async worker(databaseName, conditions, onEvent) {
      const broker = await open(destination(databaseName, conditions))
      const database = await databases.open(databaseName, conditions)
      const outbox = await Outbox.multiNode({
        store: database.openStore(),
        listeners: new ListenerRegistry().register(OrderPlaced, counted(broker.publisher, onEvent)),
        ...(conditions.workers !== undefined && { workerCount: conditions.workers }),
      }).start()
      return {
        settled: () => outbox.drain(),
        async stop() {
          await outbox.close()
          await database.close()
          await broker.remove()
        },
      }
    },
  })
}

/** Sends the same messages by the client alone, in as many batches of the same size at once. */
function limitSubject({ name, service, open }: RelayBroker): Subject {
  return {
    name: `limit-${name}`,
    service,
    singleProcess: true,
    async measure(conditions) {
      const broker = await open(destination('limit', conditions))
      await sendInBatches(broker, Math.min(warmUpMessages, conditions.events))
      const stop = startWatch()
      await sendInBatches(broker, conditions.events)
      const { ms, cpuUs } = stop()
      await broker.remove()
      return {
        eventsPerSecond: conditions.events / (ms / 1_000),
        cpuUsPerEvent: cpuUs / conditions.events,
      }
    },
  }
}

/** Returns the publisher with its acknowledgements counted. Events without one come again. */
function counted(publisher: Publisher, onEvent: OnEvent): Publisher {
  return {
    async onEvents(events, context) {
      const answers = await publisher.onEvents(events, context)
      for (const answer of answers) {
        if (!(answer instanceof Error) && answer.kind === 'done') onEvent(unread)
      }
      return answers
    },
  }
}

async function sendInBatches({ sendAll }: OpenBroker, count: number): Promise<void> {
  let next = 0
  const send = async (): Promise<void> => {
    while (next < count) {
      const first = next
      next = Math.min(count, first + batchSize)
      const numbers = Array.from({ length: next - first }, (_, index) => first + index)
      await sendAll(numbers.map(bareMessage))
    }
  }
  await Promise.all(Array.from({ length: batchesAtOnce }, send))
}

function bareMessage(number: number): BareMessage {
  const id = `01JBENCH${String(number).padStart(18, '0')}`
  const orderId = orderIdOf(number)
  const occurredAt = new Date()
  return {
    id,
    key: `${OrderPlaced.aggregateType}:${orderId}`,
    type: OrderPlaced.name,
    occurredAt,
    contentType: 'application/json',
    headers: {
      'event-id': id,
      'event-type': OrderPlaced.name,
      'aggregate-type': OrderPlaced.aggregateType,
      'occurred-at': occurredAt.toISOString(),
      'aggregate-id': orderId,
    },
    body: Buffer.from(JSON.stringify(payloadOf(number))),
  }
}

function destination(what: string, { run }: Conditions): string {
  return `sendoff-bench-${run}-${what}-${process.pid}`
}

// A relay does not read the payloads.
const unread = { payload: payloadOf(0) }
