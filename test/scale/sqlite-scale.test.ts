import { equal, ok } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { DeadEventManager, OutboxPurgeScheduler } from 'sendoff/parts'
import { sqliteStore } from 'sendoff/sqlite'

// A tenth of the size, unless the full one is requested.
const scale = process.env['SENDOFF_TEST_SCALE'] === 'full' ? 10 : 1
const mebibyte = 2 ** 20

describe('a large table on SQLite', () => {
  it(`is purged of ${100_000 * scale} events with memory flat`, async (test) => {
    const { store, fill } = await openStore(test)
    fill(100_000 * scale, 1)
    fill(10, 3)
    const memory = watchMemory()
    const startedAt = performance.now()
    let batches = 0
    const purge = new OutboxPurgeScheduler({
      store,
      retentionMs: 1_000,
      onProgress: () => {
        batches++
        memory.look()
      },
    })
    const { deletedRows } = await purge.runOnce()
    test.diagnostic(
      `${rate(deletedRows, startedAt)} events/s, memory grew by ${memory.grownBy()} MiB at most`,
    )
    equal(deletedRows, 100_000 * scale)
    equal(await store.people.count({}), 10)
    ok(batches >= 200 * scale)
    ok(memory.grownBy() < 64, `memory grew by ${memory.grownBy()} MiB`)
  })

  it(`has ${10_000 * scale} dead events replayed with memory flat`, async (test) => {
    const { store, fill } = await openStore(test)
    fill(100_000, 1)
    fill(10_000 * scale, 3)
    const memory = watchMemory()
    const startedAt = performance.now()
    const replayed = await new DeadEventManager({ store }).replayAll({}, { onProgress: () => memory.look() })
    test.diagnostic(`${rate(replayed, startedAt)} events/s, memory grew by ${memory.grownBy()} MiB at most`)
    equal(replayed, 10_000 * scale)
    equal(await store.people.count({ status: [0] }), 10_000 * scale)
    ok(memory.grownBy() < 64, `memory grew by ${memory.grownBy()} MiB`)
  })
})

async function openStore(test: TestContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'sendoff-scale-'))
  const file = path.join(folder, 'app.db')
  const store = sqliteStore({ open: () => new DatabaseSync(file), synchronous: 'NORMAL' })
  await store.migrate()
  const mine = new DatabaseSync(file)
  test.after(async () => {
    mine.close()
    await store.close()
    await rm(folder, { recursive: true })
  })

  /** Adds old events of one status, faster than they could be written and delivered. */
  const fill = (count: number, status: number) =>
    mine
      .prepare(
        `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
         insert into outbox_event (event_id, destination, event_type, aggregate_type, payload, status, attempts,
                                   deliveries, losses, available_at, occurred_at, created_at, done_at)
         select ? || '-' || n, '', 'Filled', '__GLOBAL__', '{"orderId":"o-' || n || '"}', ?, 0, 1, 0, n, n, n, n
           from numbers`,
      )
      .run(count, `s${status}`, status)
  return { store, fill }
}

function watchMemory() {
  const atStart = process.memoryUsage.rss()
  let highest = atStart
  return {
    look: () => void (highest = Math.max(highest, process.memoryUsage.rss())),
    grownBy: () => Math.round((highest - atStart) / mebibyte),
  }
}

function rate(count: number, startedAt: number): number {
  return Math.round((count / (performance.now() - startedAt)) * 1_000)
}
