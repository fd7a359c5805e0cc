import { equal, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import postgres from 'postgres'
import type { PostgresServer } from '../../../../../test/services/servers/postgres/postgres-server.ts'
import { debianPostgresServer } from '../../../../../test/services/servers/postgres/postgres.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { claim, lease, newStore, processOf, settleDone, waitingFor, withClient, write } from './test-store.ts'

describe('postgres store: lost connections', () => {
  it('idle connections that are ended by the server harm nobody', async (t) => {
    const { store, pool, newPool } = await newStore(t)
    await Promise.all(Array.from({ length: 5 }, () => store.count({})))
    const pids = await backendsOf(pool)
    const removed = removals(pool, pids.length)
    await endBackends(newPool(), pids)
    await removed

    await write(store, 3)
    equal((await claim(store)).length, 3)
  })

  it('a connection that is ended as soon as it is made harms nobody', async (t) => {
    const { schema, pool, newPool } = await newStore(t)
    const proxy = await proxyThatKeepsFirstAnswer(t)
    const store = postgresStore({ client: newPool({ connectionString: proxy.url, max: 1 }), schema })
    const failed = rejects(store.transaction(async () => {}))
    const pid = await proxy.isReady
    await endBackends(pool, [pid])
    // The word that the server is ready, and the word that it has ended: in one piece.
    await proxy.passOnWhenEnded()
    await failed

    await store.transaction((tx) => store.insert(tx, sampleRows(1), lease))
    equal(await store.count({}), 1)
  })

  it('a claim whose connection is ended fails, and the next one finds the rows', async (t) => {
    const { store, pool, table } = await newStore(t)
    await write(store, 3)
    await withClient(pool, async (blocker) => {
      await blocker.query(`begin; lock table ${table} in access exclusive mode`)
      const failed = rejects(claim(store), { code: '57P01' })
      await endBackends(pool, [await waitingFor(pool, processOf(blocker))])
      await failed
      await blocker.query('rollback')
    })

    equal((await claim(store)).length, 3)
  })

  it('a deadlock with somebody else is not noticed by the engine', async (t) => {
    const { store, pool, table } = await newStore(t)
    await write(store, 2)
    const rows = await claim(store)
    await withClient(pool, async (other) => {
      const lockRow = (index: number) =>
        other.query(`select from ${table} where event_id = $1 for update`, [rows[index]!.eventId])
      // The store's own session is to be the one that finds out.
      await other.query(`begin; set local deadlock_timeout = '1h'`)
      await lockRow(1)
      const settled = settleDone(store, rows)
      await waitingFor(pool, processOf(other))
      await Promise.all([lockRow(0).then(() => other.query('rollback')), settled])
    })

    equal(await store.count({ status: [1] }), 2)
  })

  it('a closed store refuses to work, and leaves the pool open', async (t) => {
    const { store, pool } = await newStore(t)
    await store.close()
    await store.close()

    await rejects(store.claim({ lease, limit: 1 }), { code: 'OUTBOX_CLOSED' })
    await rejects(
      store.transaction(async () => {}),
      { code: 'OUTBOX_CLOSED' },
    )
    equal((await pool.query('select 1 as one')).rows[0].one, 1)
  })
})

describe('postgres store: a server that goes down', () => {
  const folder = temporaryFolder('postgres-restart')
  let server: PostgresServer

  before(async () => {
    server = await debianPostgresServer(folder.path)
  })
  after(async () => {
    await server.kill()
    folder.remove()
  })

  for (const mode of ['fast', 'immediate'] as const) {
    it(`and comes back (${mode}) is found again by pg, with all that was committed`, async (t) => {
      const pool = new pg.Pool({ connectionString: server.url, max: 4 })
      t.after(() => pool.end())
      const store = postgresStore({ client: pool, schema: `on_pg_${mode}` })
      await store.migrate()
      await write(store, 3)
      await Promise.all([store.count({}), store.count({}), store.count({})])
      await server.stop(mode)
      await rejects(store.claim({ lease, limit: 10 }))
      await server.start()

      equal((await claim(store)).length, 3)
    })

    it(`and comes back (${mode}) is found again by postgres.js`, async (t) => {
      const sql = postgres(server.url, { max: 4, backoff: () => 0.01, onnotice: () => {} })
      t.after(() => sql.end({ timeout: 1 }))
      const store = postgresStore({ client: sql, schema: `on_postgres_js_${mode}` })
      await store.migrate()
      await store.transaction((tx) => store.insert(tx, sampleRows(3), lease))
      await server.stop(mode)
      await rejects(store.claim({ lease, limit: 10 }))
      await server.start()

      equal((await claimWithin(() => store.claim({ lease, limit: 10 }))).length, 3)
    })
  }
})

/** Keeps back what the server says to its first client from the word on that it is ready. */
async function proxyThatKeepsFirstAnswer(t: TestContext) {
  const target = new URL(process.env['POSTGRES_URL']!)
  const ready = Promise.withResolvers<number>()
  const ended = Promise.withResolvers<void>()
  const kept: Buffer[] = []
  let first: Socket | undefined

  const listener = createServer((client) => {
    const server = connect(Number(target.port), target.hostname)
    client.pipe(server)
    for (const socket of [client, server]) socket.on('error', () => {})
    if (first !== undefined) return void server.pipe(client)

    first = client
    server.on('data', (data) => {
      if (kept.length === 0 && !isReady(data)) return void client.write(data)
      kept.push(data)
      if (kept.length === 1) ready.resolve(processIn(data))
    })
    server.on('close', () => ended.resolve())
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.after(() => listener.close())

  const url = new URL(target)
  url.host = `127.0.0.1:${(listener.address() as AddressInfo).port}`
  return {
    url: url.href,
    /** Resolves to the number of the process at the other end. */
    isReady: ready.promise,
    async passOnWhenEnded() {
      await ended.promise
      first!.end(Buffer.concat(kept))
    },
  }
}

function isReady(data: Buffer): boolean {
  return data.includes('Z\0\0\0\x05I', 0, 'latin1')
}

/** From BackendKeyData, which comes before the server is ready. */
function processIn(data: Buffer): number {
  return data.readInt32BE(data.indexOf('K\0\0\0\x0c', 0, 'latin1') + 5)
}

async function backendsOf(pool: pg.Pool): Promise<number[]> {
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
  const pids = clients.map(processOf)
  clients.forEach((client) => client.release())
  return pids
}

function removals(pool: pg.Pool, count: number): Promise<void> {
  let left = count
  return new Promise((resolve) => {
    pool.on('remove', () => {
      left -= 1
      if (left === 0) resolve()
    })
  })
}

async function endBackends(pool: pg.Pool, pids: readonly number[]): Promise<void> {
  await pool.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [pids])
}

// postgres.js hands out one connection after another before it has noticed that all are gone.
async function claimWithin<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let count = 0; count < 10; count += 1) {
    try {
      return await attempt()
    } catch {
      // Once more, on the next connection.
    }
  }
  return attempt()
}
