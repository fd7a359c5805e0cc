import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { OutboxAdmin } from 'sendoff/admin'
import { SharedReads } from '../src/live/shared-reads.ts'
import { DashboardClient } from './dashboard-client.ts'
import { filledOutbox } from './filled-outbox.ts'

/** Returns an admin that counts how often its overview is read. */
async function counted() {
  const { admin } = await filledOutbox({ dead: 1 })
  const reads = { count: 0, isBroken: false }
  const overview = (): ReturnType<typeof admin.overview> => {
    reads.count++
    if (reads.isBroken) return Promise.reject(new Error('connection refused'))
    return admin.overview()
  }
  const watched = { as: (actor: string) => admin.as(actor), overview } as unknown as OutboxAdmin<never>
  return { reads, admin, watched }
}

const stream = '/api/outboxes/orders/stream'

/** Reads messages of a stream until it has seen `count` of them. */
async function messages(response: Response, count: number): Promise<string> {
  let text = ''
  const reader = response.body!.getReader()
  while (text.split('\n\nevent:').length + (text.startsWith('event:') ? 1 : 0) <= count) {
    const { done, value } = await reader.read()
    if (done) break
    text += new TextDecoder().decode(value)
  }
  reader.releaseLock()
  return text
}

describe('live streams', () => {
  it('of five pages cost the database as much as one', async () => {
    const { reads, watched } = await counted()
    const client = new DashboardClient({ admins: { orders: watched }, refreshMs: 20 })
    const left = new AbortController()
    const pages = await Promise.all(
      Array.from({ length: 5 }, () => client.send(stream, { signal: left.signal })),
    )
    const texts = await Promise.all(pages.map((page) => messages(page, 3)))
    for (const text of texts) match(text, /^retry: 3000\n\nevent: state\ndata: \{"overview":/)
    // The reads of all pages come from the same clock: three messages each, with a read or two under way.
    ok(reads.count <= 5, `${reads.count} reads`)
    left.abort()
  })

  it('read nothing before the first page comes, and after the last one has left', async () => {
    const { reads, watched } = await counted()
    const client = new DashboardClient({ admins: { orders: watched }, refreshMs: 1 })
    equal(reads.count, 0)
    const left = new AbortController()
    await messages(await client.send(stream, { signal: left.signal }), 1)
    const second = await client.send(stream)
    await second.body!.cancel()
    left.abort()
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    const { count } = reads
    await new Promise((resolve) => setTimeout(resolve, 30))
    equal(reads.count, count)
  })

  it('share what other requests read: ten thousand requests for the state are one read', async () => {
    const { reads, watched } = await counted()
    const client = new DashboardClient({ admins: { orders: watched } })
    const path = '/api/outboxes/orders/state'
    const statuses = await Promise.all(
      Array.from({ length: 10_000 }, async () => (await client.send(path)).status),
    )
    deepEqual(new Set(statuses), new Set([200]))
    ok(reads.count <= 3, `${reads.count} reads`)
  })

  it('share the lists that pages read again at each message', async () => {
    const { admin } = await filledOutbox({ dead: 3 })
    let browsed = 0
    const browse: typeof admin.browse = (...given) => {
      browsed++
      return admin.browse(...given)
    }
    const watched = {
      as: () => ({ browse }),
      overview: () => admin.overview(),
    } as unknown as OutboxAdmin<never>
    const client = new DashboardClient({ admins: { orders: watched } })
    for (let page = 0; page < 5; page++) await client.get('outboxes/orders/events?status=DEAD')
    equal(browsed, 1)
  })

  it('read no more often for a plan that reports each of its steps', async () => {
    const { reads, watched } = await counted()
    const client = new DashboardClient({ admins: { orders: watched }, refreshMs: 1_000 })
    const left = new AbortController()
    const page = await client.send(stream, { signal: left.signal })
    await messages(page, 1)
    const body = page.body!.getReader()
    const startedAt = performance.now()
    for (let step = 0; step < 300; step++)
      await client.act('outboxes/orders/pause', { eventType: `t${step}` })
    await body.read()
    // At most one read each quarter of a second, and the one that a step found under way.
    const most = 2 + (performance.now() - startedAt) / 250
    ok(reads.count <= most + 1, `${reads.count} reads, ${most} at most`)
    left.abort()
  })

  it('tell that the database is down, and go on when it is back', async () => {
    const { reads, watched } = await counted()
    const client = new DashboardClient({ admins: { orders: watched }, refreshMs: 5 })
    reads.isBroken = true
    const left = new AbortController()
    const page = await client.send(stream, { signal: left.signal })
    match(await messages(page, 2), /event: trouble\ndata: \{"code":"INTERNAL"/)
    reads.isBroken = false
    let text = ''
    while (!text.includes('event: state')) text += await messages(page, 1)
    left.abort()
  })

  it('of a client that never reads hold a few messages, and end', async () => {
    const { watched } = await counted()
    const client = new DashboardClient({ admins: { orders: watched }, refreshMs: 1, maxStreams: 2 })
    const hanging = await client.send(stream)
    const reading = await client.send(stream)
    equal((await client.send(stream)).status, 503)
    const reader = reading.body!.getReader()
    // The stream of the hanging client has ended when another one finds room.
    let third = await client.send(stream)
    while (third.status === 503) {
      await reader.read()
      third = await client.send(stream)
    }
    let held = 0
    const late = hanging.body!.getReader()
    for (let part = await late.read(); !part.done; part = await late.read()) held++
    ok(held <= 4, `${held} messages were held`)
    await Promise.all([reader.cancel(), third.body!.cancel()])
  })
})

describe('shared reads', () => {
  const options = { timeLimitMs: 50, maxAtOnce: 2, maxWaiting: 3 }

  it('never begin an action later than its visitor waits, who would do it twice', async () => {
    const reads = new SharedReads({ ...options, maxAtOnce: 1 })
    const { promise, resolve } = Promise.withResolvers<void>()
    let acted = 0
    const begun = reads.act(() => promise)
    const late = reads.act(async () => void acted++)
    await rejects(begun, { code: 'DATABASE_SILENT', message: /may still/ })
    await rejects(late, { code: 'DATABASE_SILENT', message: /Nothing was done/ })
    resolve()
    equal(await reads.read('a', 0, () => Promise.resolve(1)), 1)
    equal(acted, 0)
  })

  it('never run more calls at once than allowed, and refuse what would wait in vain', async () => {
    const reads = new SharedReads({ ...options, timeLimitMs: 10_000 })
    const open: (() => void)[] = []
    let most = 0
    const work = (): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>()
      open.push(resolve)
      most = Math.max(most, open.length)
      return promise
    }
    const calls = Array.from({ length: 5 }, (_, index) => reads.read(`${index}`, 0, work))
    await rejects(reads.read('one more', 0, work), { code: 'BUSY' })
    for (let count = 0; count < 5; count++) {
      while (open.length === 0) await nextTurn()
      open.shift()!()
    }
    await Promise.all(calls)
    equal(most, 2)
  })

  it('give up on a database that is silent, and keep its place: there is no flood of calls', async () => {
    const reads = new SharedReads(options)
    let calls = 0
    const hang = (): Promise<never> => {
      calls++
      return new Promise(() => {})
    }
    for (let round = 0; round < 3; round++) {
      await rejects(reads.read('state', 1_000, hang), { code: 'DATABASE_SILENT' })
    }
    equal(calls, 1)
  })

  it('forget results that no page asks for again', async () => {
    const reads = new SharedReads(options)
    await reads.read('a', 5, () => Promise.resolve({ payload: 'large' }))
    equal(reads.keptCount, 1)
    while (reads.keptCount > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  })

  it('do not keep a failure, and forget what they read after an action', async () => {
    const reads = new SharedReads(options)
    await rejects(
      reads.read('a', 10_000, () => Promise.reject(new Error('no'))),
      /no/,
    )
    equal(await reads.read('a', 10_000, () => Promise.resolve(1)), 1)
    equal(await reads.read('a', 10_000, () => Promise.resolve(2)), 1)
    await reads.act(() => Promise.resolve())
    equal(await reads.read('a', 10_000, () => Promise.resolve(3)), 3)
  })
})
