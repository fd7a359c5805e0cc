import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { NewRow } from 'sendoff/store'
import { skipReason, storeChecks } from 'sendoff/testing'
import { fileStore } from './file-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'file-store-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
const newPath = () => join(folder, `${(files += 1)}.json`)

describe('file store', () => {
  for (const check of storeChecks) {
    const skip = skipReason(check, { store: fileStore({ path: newPath() }) })

    it(check.name, { skip }, async () => {
      let time = Date.UTC(2026, 0, 1)
      const store = fileStore({ path: newPath(), now: () => time })
      const wait = async (ms: number) => void (time += ms)

      await store.migrate()
      await check.run({ store, wait })
      await store.close()
    })
  }
})

const lease = { owner: 'first', ms: 1_000 }
const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)

function newRow(eventId: string, payload: string | Uint8Array): NewRow {
  const texts = {
    eventType: 'Sent',
    aggregateType: 'Letter',
    aggregateId: null,
    tenantId: null,
    headers: '{"b":1, "a":2}',
  }
  const rest = {
    orderingKey: null,
    partitionNo: null,
    contentType: null,
    occurredAt: 5,
    due: { inMs: 0 },
    idempotencyKey: eventId,
  }
  return { eventId, destination: '', payload, claimed: false, ...texts, ...rest }
}

async function storeWith(path: string, ...rows: NewRow[]) {
  const store = fileStore({ path })
  await store.migrate()
  await store.transaction((tx) => store.insert({ tx, rows }))
  return store
}

describe('file store, reopened', () => {
  it('has the same rows, leases, failed attempts and used keys', async () => {
    const path = newPath()
    const first = await storeWith(
      path,
      newRow('bytes', bytes),
      newRow('text', '{ "ü": "\ud800" }'),
      newRow('failed', ''),
    )
    const [row] = await first.claim({ lease, limit: 1, rows: [{ eventId: 'failed', destination: '' }] })
    assert(row)
    const failure = { error: 'Error: no', counted: true }
    assert.deepEqual(await first.settle({ settlements: [{ row, outcome: { kind: 'dead', failure } }] }), [])
    await first.claim({ lease, limit: 1 })
    const before = await first.people.query({ limit: 10 })
    await first.close()

    const second = fileStore({ path })
    await second.checkSchema()
    assert.deepEqual(await second.people.query({ limit: 10 }), before)
    assert.deepEqual(before[0]?.payload, bytes)
    assert.equal((await second.people.attempts(row)).length, 1)
    const results = await second.transaction((tx) =>
      second.insert({ tx, rows: [newRow('text', ''), { ...newRow('new', '') }] }),
    )
    assert.deepEqual(results[0], { kind: 'duplicate', eventId: 'text' })
    assert.deepEqual(results[1], { kind: 'inserted', seq: 4, deliveries: 0, certain: true })
  })

  it('never uses a number again after the row is gone', async () => {
    const path = newPath()
    const first = await storeWith(path, newRow('gone', ''))
    const [row] = await first.claim({ lease, limit: 1 })
    assert(row)
    await first.settle({ settlements: [{ row, outcome: { kind: 'delete' } }] })

    const second = await storeWith(path, newRow('next', ''))
    assert.deepEqual(
      (await second.people.query({ limit: 10 })).map(({ seq }) => seq),
      [2],
    )
  })

  it('hands out a row whose payload someone removed', async () => {
    const path = newPath()
    await storeWith(path, newRow('spoiled', 'hello'), newRow('good', ''))
    await writeFile(path, (await readFile(path, 'utf8')).replace('"hello"', 'null'))

    const rows = await fileStore({ path }).claim({ lease, limit: 10 })
    assert.deepEqual(
      rows.map(({ payload }) => payload),
      [null, ''],
    )
  })
})

describe('file store, failing', () => {
  it('is not ready without a file, and closed after close()', async () => {
    const store = fileStore({ path: newPath() })
    await assert.rejects(store.checkSchema(), { code: 'OUTBOX_SCHEMA_NOT_READY' })
    await store.close()
    await assert.rejects(store.migrate(), { code: 'OUTBOX_CLOSED' })
  })

  it('keeps nothing that it could not write', async () => {
    const path = join(mkdtempSync(join(folder, 'gone-')), 'events.json')
    const store = await storeWith(path, newRow('kept', ''))
    rmSync(join(path, '..'), { recursive: true })
    await assert.rejects(
      store.transaction((tx) => store.insert({ tx, rows: [newRow('lost', '')] })),
      { code: 'ENOENT' },
    )
    await assert.rejects(store.claim({ lease, limit: 1 }), { code: 'ENOENT' })
    assert.deepEqual(
      (await store.people.query({ limit: 10 })).map(({ eventId, lockedBy }) => [eventId, lockedBy]),
      [['kept', null]],
    )
  })

  it('undoes a transaction whose part is still open, and the part', async () => {
    const store = await storeWith(newPath())
    const { promise: later, resolve } = Promise.withResolvers<void>()
    let part: Promise<void> = later
    const whole = store.transaction(async (tx) => {
      part = store.transaction(() => later, { within: tx })
      await store.insert({ tx, rows: [newRow('undone', '')] })
    })
    await assert.rejects(whole, { code: 'OUTBOX_TRANSACTION_ENDED' })
    resolve()
    await assert.rejects(part, { code: 'OUTBOX_TRANSACTION_ENDED' })
    assert.equal(await store.people.count({}), 0)
  })
})
