import pg from 'pg'
import type { Conditions, StartWorker, Subject } from '../store-bench.ts'
import { sharedNow } from '../statistics.ts'
import {
  createDatabase,
  databaseUrl,
  serverCpuUs,
  tidy,
  transactionCount,
  withClient,
} from '../stores/postgres/postgres-server.ts'
import { createOrders, insertOrder, inTransaction } from '../stores/postgres/orders.ts'
import { readGauge } from '../stores/postgres/postgres-gauge.ts'
import { type Backlog, drainSubject } from '../suites/drain.ts'
import { measureIdle } from '../suites/idle.ts'
import { latencyAcrossProcesses } from '../suites/latency.ts'
import { steadySubject } from '../suites/steady/steady-subject.ts'
import { concurrentWriters, eventsPerBulkWrite, measureWrites } from '../suites/write.ts'
import type { Peer, PeerWriter } from './peer.ts'

/** Measures how a peer drains a backlog of its own. */
export function peerDrain(peer: Peer): Subject {
  const { name, maxEvents, singleProcess } = peer
  return drainSubject({
    name,
    backlog: peerBacklog(peer),
    worker: peerWorker(peer),
    ...(maxEvents && { maxEvents }),
    ...(singleProcess && { singleProcess }),
  })
}

/** Measures transactions that commit an order together with its job. */
export function peerWrites(peer: Peer): Subject {
  return {
    name: peer.name,
    measure: (conditions) =>
      measureWrites(conditions, { concurrent: true, serverCpuUs }, async (name, within) => {
        const { pool, writer, close } = await openWriter(peer, name, within)
        return {
          single: (number) =>
            inTransaction(pool, async (client) => {
              await insertOrder(client, number)
              await writer.write(client, number)
            }),
          bulk: (first) =>
            inTransaction(pool, async (client) => {
              await insertOrder(client, first)
              await writer.writeAll(client, first, eventsPerBulkWrite)
            }),
          close,
        }
      }),
  }
}

/** Measures the time from the commit in one process to the delivery in another. */
export function peerLatency(peer: Peer): Subject {
  return {
    name: peer.name,
    worker: peerWorker(peer),
    async measure(conditions) {
      const { pool, writer, close } = await openWriter(peer, 'across', conditions)
      const measurement = await latencyAcrossProcesses('across', conditions, async (number) => {
        await inTransaction(pool, async (client) => {
          await insertOrder(client, number)
          await writer.write(client, number)
        })
        return sharedNow()
      })
      await close()
      return measurement
    },
  }
}

/** Measures a peer under arrivals at a fixed rate. */
export function peerSteady(peer: Peer): Subject {
  return steadySubject({
    name: peer.name,
    ...(peer.singleProcess && { singleProcess: true }),
    worker: peerWorker(peer),
    async open(database, conditions) {
      const { pool, writer, close } = await openWriter(peer, database, conditions)
      return {
        write: (number) =>
          inTransaction(pool, async (client) => {
            await insertOrder(client, number)
            await writer.write(client, number)
          }),
        gauge: () => readGauge(database, conditions),
        serverCpuUs,
        close,
      }
    },
  })
}

/** Measures a worker of a peer with nothing to do. */
export function peerIdle(peer: Peer): Subject {
  return {
    name: peer.name,
    async measure(conditions) {
      const url = await createDatabase('idle', conditions)
      await peer.setUp(url)
      return measureIdle(
        conditions,
        () => peer.work(url, () => {}),
        async () => ({ idleTransactionsPerSecond: await transactionCount('idle', conditions) }),
      )
    },
  }
}

function peerWorker(peer: Peer): StartWorker {
  return (database, conditions, onEvent) => peer.work(databaseUrl(database, conditions), onEvent)
}

function peerBacklog(peer: Peer): Backlog {
  return {
    async fill(database, count, conditions) {
      const { pool, writer, url, close } = await openWriter(peer, database, conditions)
      for (let written = 0; written < count; written += eventsPerBulkWrite) {
        const length = Math.min(eventsPerBulkWrite, count - written)
        await inTransaction(pool, (client) => writer.writeAll(client, written, length))
      }
      await close()
      await tidy(url)
    },

    left: (database, conditions) =>
      withClient(databaseUrl(database, conditions), async (client) => {
        const { rows } = await client.query<{ count: string }>(peer.leftSql)
        return Number(rows[0]!.count)
      }),

    serverCpuUs,
  }
}

interface OpenWriter {
  readonly url: string
  readonly pool: pg.Pool
  readonly writer: PeerWriter
  readonly close: () => Promise<void>
}

/** Opens a writer on a new database, with the peer's tables and one for orders. */
async function openWriter(peer: Peer, database: string, conditions: Conditions): Promise<OpenWriter> {
  const url = await createDatabase(database, conditions)
  await peer.setUp(url)
  await createOrders(url)
  const pool = new pg.Pool({ connectionString: url, max: concurrentWriters })
  const writer = await peer.openWriter(url)
  return {
    url,
    pool,
    writer,
    async close() {
      await writer.close()
      await pool.end()
    },
  }
}
