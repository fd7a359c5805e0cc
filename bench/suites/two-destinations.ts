import { ListenerRegistry, Outbox, type RoutingOptions } from 'sendoff'
import { OrderPlaced, payloadOf } from '../bench-event.ts'
import type { BenchDatabases, StartWorker, Subject } from '../store-bench.ts'
import { type Backlog, drainSubject } from './drain.ts'
import { latencyInProcess } from './latency.ts'

const eventsPerWrite = 500

const toBoth: RoutingOptions = {
  version: 1,
  rules: [{ to: ['first', 'second'] }],
  destinations: { first: {}, second: {} },
}
const toFirst: RoutingOptions = { version: 1, rules: [{ to: ['first'] }], destinations: { first: {} } }

/** The tables of the comparison: the usual one, and a second. */
const tables = [undefined, 'outbox_second'] as const

/**
 * Measures a drain to two destinations of one table, and the same number of rows in two tables of one
 * destination each. Both have as many rows as other drains have events. Also measures what a second
 * destination costs the first, healthy or broken.
 */
export function twoDestinationSubjects<Tx>(databases: BenchDatabases<Tx>): readonly Subject[] {
  return [
    drainSubject({
      name: 'sendoff-two-destinations',
      backlog: backlogOf(withRouting(databases, toBoth), [undefined], 2),
      worker: workerOf(databases, [undefined], ['first', 'second']),
      singleProcess: true,
    }),
    drainSubject({
      name: 'sendoff-two-tables',
      backlog: backlogOf(databases, tables, 1),
      worker: workerOf(databases, tables, ['']),
      singleProcess: true,
    }),
    latencySubject(databases, 'sendoff-first-alone', {}),
    latencySubject(databases, 'sendoff-first-beside-second', { second: async () => {} }),
    latencySubject(databases, 'sendoff-first-beside-broken', { second: broken }),
    latencySubject(databases, 'sendoff-first-beside-broken-breaker', { second: broken, circuitBreaker: {} }),
  ]
}

const broken = () => Promise.reject(new Error('This destination is broken.'))

/** Measures deliveries to the first destination, with or without a second one. */
function latencySubject<Tx>(
  databases: BenchDatabases<Tx>,
  name: string,
  { second, ...choices }: { readonly second?: () => Promise<void>; readonly circuitBreaker?: object },
): Subject {
  const routing = second === undefined ? toFirst : { ...toBoth, destinations: { first: {}, second: choices } }
  return {
    name,
    measure: (conditions) =>
      latencyInProcess(withRouting(databases, routing), conditions, (database, listener) => {
        const listeners = new ListenerRegistry().register(OrderPlaced, listener, { destination: 'first' })
        if (second !== undefined) listeners.register(OrderPlaced, second, { destination: 'second' })
        return Outbox.multiNode({ store: database.openStore(), listeners, logger: false, routing })
      }),
  }
}

/** Makes databases with a routing, and with its indexes. */
function withRouting<Tx>(databases: BenchDatabases<Tx>, routing: RoutingOptions): BenchDatabases<Tx> {
  return {
    ...databases,
    async create(name, conditions) {
      const database = await databases.create(name, conditions)
      const store = database.openStore()
      const outbox = await Outbox.writerOnly({ store, routing }).start()
      await store.migrate()
      await outbox.close()
      return database
    },
  }
}

function backlogOf<Tx>(
  databases: BenchDatabases<Tx>,
  names: readonly (string | undefined)[],
  rowsPerEvent: number,
): Backlog {
  const { serverCpuUs } = databases
  return {
    ...(serverCpuUs && { serverCpuUs }),
    async fill(name, count, conditions) {
      const database = await databases.create(name, conditions)
      for (const table of names) {
        const outbox = await Outbox.writerOnly({ store: database.openStore(table) }).start()
        const events = count / names.length / rowsPerEvent
        for (let written = 0; written < events; written += eventsPerWrite) {
          const length = Math.min(eventsPerWrite, events - written)
          await outbox.transaction(() =>
            outbox.writeAll(Array.from({ length }, (_, index) => OrderPlaced.of(payloadOf(written + index)))),
          )
        }
        await outbox.close()
      }
      await database.tidy?.()
      await database.close()
    },
    async left(name, conditions) {
      const database = await databases.open(name, conditions)
      let left = 0
      for (const table of names) {
        const store = database.openStore(table)
        left += await store.people!.count({ status: [0, 2, 3], eventType: OrderPlaced.name })
        await store.close()
      }
      await database.close()
      return left
    },
  }
}

function workerOf<Tx>(
  databases: BenchDatabases<Tx>,
  names: readonly (string | undefined)[],
  destinations: readonly string[],
): StartWorker {
  return async (name, { workers, ...conditions }, onEvent) => {
    const database = await databases.open(name, { ...conditions, ...(workers !== undefined && { workers }) })
    const outboxes = await Promise.all(
      names.map((table) => {
        const listeners = new ListenerRegistry()
        for (const destination of destinations)
          listeners.register(OrderPlaced, async (event) => onEvent(event), { destination })
        return Outbox.multiNode({
          store: database.openStore(table),
          listeners,
          logger: false,
          ...(destinations.length > 1 && { routing: toBoth }),
          ...(workers !== undefined && { workerCount: workers }),
        }).start()
      }),
    )
    return {
      settled: async () => void (await Promise.all(outboxes.map((outbox) => outbox.drain()))),
      async stop() {
        for (const outbox of outboxes) await outbox.close()
        await database.close()
      },
    }
  }
}
