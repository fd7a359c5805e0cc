import { deepEqual, doesNotMatch, equal, match, ok, rejects, throws } from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { ListenerRegistry, Outbox, silentLogger } from 'sendoff'
import { outboxAdmin, type Plan } from 'sendoff/admin'
import { MailOutbox } from 'sendoff/mail'
import { memoryStore } from 'sendoff/memory'
import type { EventAnswer, EventsAnswer, MailsAnswer } from '../src/api/answers.ts'
import { dashboard } from '../src/index.ts'
import type { RunState } from '../src/live/plan-runs.ts'
import { DashboardClient } from './dashboard-client.ts'
import { filledOutbox, threeWays } from './filled-outbox.ts'

const authorize = () => undefined

describe('the options of a dashboard', () => {
  it('are checked, and a mistake is named', async () => {
    const { admin } = await filledOutbox()
    const admins = { orders: admin }
    const wrong: readonly [options: object, message: RegExp][] = [
      [{ admins }, /needs the option "authorize"/],
      [{ admins: {}, authorize }, /at least one outbox/],
      [{ admins: { 'a/b': admin }, authorize }, /cannot show an outbox as "a\/b"/],
      [{ admins: { '..': admin }, authorize }, /cannot show/],
      [{ admins: { '.orders': admin }, authorize }, /cannot show/],
      [{ admins: { api: admin }, authorize }, /cannot show an outbox as "api": the dashboard needs/],
      [{ admins: { assets: admin }, authorize }, /cannot show/],
      [{ admins: { orders: {} }, authorize }, /needs an admin for "orders"/],
      [{ admins, authorize, basePath: 'ops' }, /begins with "\/"/],
      [{ admins, authorize, basePath: '/a/../b' }, /cannot be mounted/],
      [{ admins, authorize, basePath: '/"><script>' }, /cannot be mounted/],
      [{ admins, authorize, redact: ['card'] }, /begins with "payload" or "headers"/],
      [{ admins, authorize, traceUrl: 'javascript:alert(1)' }, /traceUrl/],
      [{ admins, authorize, refreshMs: 0 }, /"refreshMs"/],
      [{ admins, authorize, readonly: true }, /no option "readonly"/],
    ]
    for (const [options, message] of wrong) throws(() => dashboard(options as never), message)
  })
})

describe('an event', () => {
  it('comes with exact numbers, its headers, its trace, its attempts and its neighbours', async () => {
    const { admin, store } = await filledOutbox({ dead: 1 })
    const writer = await Outbox.writerOnly({ store, logger: silentLogger }).start()
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const payload = JSON.parse('{"n":1}', () =>
      (JSON as never as { rawJSON: (n: string) => unknown }).rawJSON('9007199254740993'),
    )
    const write = (more: object): Promise<unknown> =>
      writer.transaction(() => writer.write('A', payload, { orderingKey: 'k', ...more } as never))
    await write({})
    await write({ headers: { traceparent } })
    await write({})
    await writer.close()
    const client = new DashboardClient({
      admins: { orders: admin },
      traceUrl: 'https://t.example/{traceId}?span={spanId}',
    })
    const { events } = await client.get<EventsAnswer>('outboxes/orders/events?orderingKey=k')
    const detail = await client.get<EventAnswer>(`outboxes/orders/events/${events[1]!.eventId}`)

    deepEqual(detail.payload, { kind: 'json', text: '9007199254740993', isRedacted: false })
    match(detail.headers!, /traceparent/)
    equal(detail.traceUrl, 'https://t.example/0af7651916cd43dd8448eb211c80319c?span=b7ad6b7169203331')
    deepEqual([detail.neighbours.before.length, detail.neighbours.after.length], [1, 1])
    const dead = (await client.get<EventsAnswer>('outboxes/orders/events?status=DEAD')).events[0]!
    const { attempts, event } = await client.get<EventAnswer>(`outboxes/orders/events/${dead.eventId}`)
    deepEqual(
      [attempts.length, event.status, event.lastError],
      [1, 'DEAD', 'TimeoutError: carrier did not answer'],
    )
    equal('payload' in dead, false)
    await rejects(client.get('outboxes/orders/events/none'), /404 .*NO_EVENT/)
  })

  it('of bytes is shown as bytes', async () => {
    const store = memoryStore()
    const writer = await Outbox.writerOnly({ store, logger: silentLogger }).start()
    await writer.transaction(() =>
      writer.write('Bytes', new Uint8Array([0, 255, 60]), { contentType: 'image/x' } as never),
    )
    await writer.close()
    const client = new DashboardClient({ admins: { orders: outboxAdmin({ store }) }, redact: ['payload.a'] })
    const { events } = await client.get<EventsAnswer>('outboxes/orders/events')
    const path = `outboxes/orders/events/${events[0]!.eventId}`
    deepEqual((await client.get<EventAnswer>(path)).payload, {
      kind: 'bytes',
      base64: 'AP88',
      size: 3,
      isCut: false,
    })
    deepEqual((await client.get<EventAnswer>(path, { 'x-role': 'viewer' })).payload, { kind: 'hidden' })
  })

  it('shows hidden fields to admins only, and refuses a search for them by other roles', async () => {
    const { admin } = await filledOutbox({ dead: 1, payload: { card: { number: '4111' }, total: 1 } })
    const redact = ['payload.card.number', 'headers.secret']
    const client = new DashboardClient({ admins: { orders: admin }, redact })
    const { events } = await client.get<EventsAnswer>('outboxes/orders/events')
    const path = `outboxes/orders/events/${events[0]!.eventId}`
    for (const role of ['viewer', 'operator']) {
      const { payload } = await client.get<EventAnswer>(path, { 'x-role': role })
      deepEqual(payload, {
        kind: 'json',
        text: '{"card":{"number":"[redacted]"},"total":1}',
        isRedacted: true,
      })
      await rejects(
        client.get('outboxes/orders/events?text=4111', { 'x-role': role }),
        /403 .*TEXT_IS_HIDDEN/,
      )
      await rejects(client.get('outboxes/orders/mail?text=4111', { 'x-role': role }), /403 .*TEXT_IS_HIDDEN/)
    }
    const plan = { action: 'replay', filter: { text: '4111' } }
    await rejects(client.act('outboxes/orders/plans', plan, { 'x-role': 'operator' }), /TEXT_IS_HIDDEN/)
    const made = await client.act<Plan>('outboxes/orders/plans', plan)
    await rejects(
      client.act('outboxes/orders/runs', { plan: made }, { 'x-role': 'operator' }),
      /TEXT_IS_HIDDEN/,
    )
    equal((await client.get<EventsAnswer>('outboxes/orders/events?text=4111')).events.length, 1)
    match(JSON.stringify((await client.get<EventAnswer>(path)).payload), /4111/)

    // The audit keeps what an admin searched for: it would tell others what the payloads have.
    await client.act('outboxes/orders/runs', { plan: made })
    while ((await admin.audit.list()).entries[0]!.state === 'running') await nextTurn()
    const asked = ['outboxes/orders/audit', path]
    for (const each of asked) {
      match(JSON.stringify(await client.get(each)), /4111/)
      doesNotMatch(JSON.stringify(await client.get(each, { 'x-role': 'viewer' })), /4111/)
    }
  })

  it('is replayed, cancelled, edited and deleted, each once and under the name of the visitor', async () => {
    const { admin } = await filledOutbox({ dead: 2, waiting: 1 })
    const client = new DashboardClient({ admins: { orders: admin } })
    const { events } = await admin.browse({}, { order: 'oldest' })
    const at = (index: number): string => `outboxes/orders/events/${events[index]!.eventId}`
    await client.act(`${at(0)}/replay`, {})
    await rejects(client.act(`${at(0)}/replay`, {}), /409 .*NOTHING_TO_DO/)
    await client.act(`${at(2)}/cancel`, { reason: 'Withdrawn.' })
    const edited = await client.act<{ eventId: string; isNew: boolean }>(`${at(1)}/edit`, {
      payload: '{"n":9007199254740993}',
    })
    equal(edited.isNew, true)
    await rejects(client.act(`${at(1)}/edit`, { payload: '{' }), /400 .*INVALID_PAYLOAD/)
    await client.act(`${at(1)}/purge`, {})
    const rows = (await admin.browse({}, { order: 'oldest' })).events
    deepEqual(
      rows.map(({ status, lastError, payload }) => [status, lastError, payload]),
      [
        [0, null, '{"total":1}'],
        [3, 'Withdrawn.', '{"total":1}'],
        [0, null, '{"n":9007199254740993}'],
      ],
    )
    const { entries } = await admin.audit.list()
    deepEqual(
      entries.map(({ action, actor }) => `${action} ${actor}`),
      ['purge ann', 'replayEdited ann', 'cancel ann', 'replay ann'],
    )
  })

  it('with three destinations shows all of them', async () => {
    const store = memoryStore()
    const listeners = new ListenerRegistry()
      .registerDefault(() => {}, { destination: 'kafka' })
      .registerDefault(() => Promise.reject(new Error('no')), { destination: 'mail' })
      .registerDefault(() => {}, { destination: 'partners' })
    const outbox = Outbox.multiNode({ store, routing: threeWays, listeners, logger: silentLogger })
    await outbox.start()
    await outbox.transaction(() => outbox.write('OrderPlaced', { total: 1 }))
    await outbox.drain()
    const client = new DashboardClient({ admins: { orders: outboxAdmin({ store }) } })
    const { events } = await client.get<EventsAnswer>('outboxes/orders/events?destination=mail')
    const path = `outboxes/orders/events/${events[0]!.eventId}`
    const { destinations } = await client.get<EventAnswer>(`${path}?destination=mail`)
    deepEqual(
      destinations.map(({ destination, status }) => `${destination} ${status}`),
      ['kafka DONE', 'mail DEAD', 'partners DONE'],
    )
    await rejects(client.get(path), /404 .*kafka/)
    await outbox.close()
  })
})

describe('a run', () => {
  it('keeps its pace, is stopped half-way, resumed, and ends', async () => {
    const { admin } = await filledOutbox({ dead: 40 })
    const client = new DashboardClient({ admins: { orders: admin } })
    const plan = await client.act<Plan>('outboxes/orders/plans', {
      action: 'replay',
      filter: { eventType: 'OrderPlaced' },
    })
    equal(plan.count, 40)
    const { id } = await client.act<{ id: string }>('outboxes/orders/runs', { plan, ratePerSecond: 50 })
    const path = `outboxes/orders/runs/${id}`
    const running = await client.get<RunState>(path)
    deepEqual(
      [running.state, running.isHere, running.count, running.ratePerSecond],
      ['running', true, 40, 50],
    )
    await client.act(`${path}/stop`, {})
    const stopped = await client.get<RunState>(path)
    equal(stopped.state, 'stopped')
    ok(stopped.acted >= 1 && stopped.acted < 40, `${stopped.acted} were replayed`)
    equal((await admin.overview()).counts.DEAD.count, 40 - stopped.acted)
    await client.act(`${path}/resume`, { ratePerSecond: 10_000 })
    let run = await client.get<RunState>(path)
    while (run.state === 'running') run = await client.get<RunState>(path)
    deepEqual([run.state, run.acted], ['done', 40])
    await rejects(client.act(`${path}/resume`, {}), /400 .*OUTBOX_INVALID_PLAN/)
  })

  it('ends with the dashboard that runs it, and can be resumed by another', async () => {
    const { admin } = await filledOutbox({ dead: 30 })
    const client = new DashboardClient({ admins: { orders: admin } })
    const page = await client.send('/api/outboxes/orders/stream')
    const plan = await client.act<Plan>('outboxes/orders/plans', { action: 'replay', filter: {}, all: true })
    const { id } = await client.act<{ id: string }>('outboxes/orders/runs', { plan, ratePerSecond: 20 })
    await client.handler.close()
    const entry = await admin.audit.entry(id)
    deepEqual([entry.state, entry.affected < 30], ['stopped', true])
    // Its live pages have ended, and no other one begins.
    match(await page.text(), /^retry: 3000/)
    equal((await client.send('/api/outboxes/orders/stream')).status, 503)
    await client.handler.close()
    equal((await admin.as('bob').resumeRun(id)).acted, 30)
  })

  it('of another process is stopped from here, and that process notices', async () => {
    const { admin } = await filledOutbox({ dead: 30 })
    const [here, there] = [0, 1].map(() => new DashboardClient({ admins: { orders: admin } }))
    const plan = await there!.act<Plan>('outboxes/orders/plans', { action: 'replay', filter: {}, all: true })
    const { id } = await there!.act<{ id: string }>('outboxes/orders/runs', { plan, ratePerSecond: 20 })
    const path = `outboxes/orders/runs/${id}`
    equal((await here!.get<RunState>(path)).isHere, false)
    await here!.act(`${path}/stop`, {})
    const { state, acted } = await here!.get<RunState>(path)
    deepEqual([state, acted < 30], ['stopped', true])
    while ((await there!.get<RunState>(path)).isHere) await new Promise((resolve) => setTimeout(resolve, 10))
    equal((await there!.get<RunState>(path)).acted, acted)
  })
})

describe('a mail', () => {
  it('is listed and shown in a page that can run and load nothing', async () => {
    const store = memoryStore()
    const mails = new MailOutbox({ store, logger: silentLogger })
    await mails.initSchema()
    await mails.transaction(() =>
      mails.enqueue({
        from: 'Shop <shop@example.com>',
        to: ['ada@example.com', 'bob@example.com'],
        subject: 'Hello <b>',
        html: '<LINK rel="preconnect" href="https://tracker.example"><p>Hi</p><script>parent.hacked = 1</script><img src="https://tracker.example/x.png">',
      }),
    )
    const client = new DashboardClient({ admins: { mails: outboxAdmin({ store: store }) } })
    const { mails: listed } = await client.get<MailsAnswer>('outboxes/mails/mail')
    equal(listed[0]!.mail!.subject, 'Hello <b>')
    deepEqual(listed[0]!.mail!.to.length, 2)
    const preview = await client.send(`/api/outboxes/mails/mail/${listed[0]!.event.eventId}/preview`)
    const policy = preview.headers.get('content-security-policy')!
    match(policy, /^sandbox; default-src 'none'/)
    equal(/script|https:|allow-/.test(policy), false)
    // A policy does not keep a browser from looking up and connecting to hosts that a link announces.
    equal(preview.headers.get('x-dns-prefetch-control'), 'off')
    equal(/<link/i.test(await preview.text()), false)
    equal((await client.send('/api/outboxes/mails/mail/none/preview')).status, 404)
  })
})

describe('the page', () => {
  it('has less than 120 kB of scripts and styles, compressed', (test) => {
    const folder = join(import.meta.dirname, '../dist/page')
    const files = readdirSync(folder).filter((name) => /\.(?:js|css)$/.test(name))
    const size = files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0)
    test.diagnostic(`${files.join(' and ')}: ${size} bytes compressed`)
    equal(files.length, 3)
    ok(size < 120_000)
  })

  it('loads nothing from other hosts', () => {
    const folder = join(import.meta.dirname, '../dist/page')
    const hosts = readdirSync(folder).flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/https?:\/\/[\w.-]+/g)].map(([host]) => host),
    )
    deepEqual(
      [...new Set(hosts)].filter((host) => !/www\.w3\.org/.test(host)),
      [],
    )
  })
})
