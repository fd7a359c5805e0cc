import { deepEqual, equal } from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { Outbox, silentLogger } from 'sendoff'
import { outboxAdmin } from 'sendoff/admin'
import { MailOutbox } from 'sendoff/mail'
import { memoryStore } from 'sendoff/memory'
import { serveDashboard, type ServedDashboard } from '../../src/index.ts'
import { openBrowser, openPage } from './browser-page.ts'

/** Runs in a page that does not escape texts, does not check addresses, or lets a policy slip. */
const evil = (where: string): string =>
  `"'><img src=x onerror="alert('${where}')"><script>alert('${where}')</script><a href="javascript:alert(1)">${where}</a>`

describe('a text from an event', () => {
  let browser: Browser
  let served: ServedDashboard
  const store = memoryStore()
  const mailStore = memoryStore()
  // A server whose owner wants to know when the mail is looked at.
  let visits = 0
  const tracker = createServer((socket) => {
    visits++
    socket.destroy()
  })
  before(async () => {
    tracker.listen(0, '127.0.0.1')
    await once(tracker, 'listening')
    browser = await openBrowser()
    await fill()
    served = await serveDashboard({
      admins: { orders: outboxAdmin({ store }), mails: outboxAdmin({ store: mailStore }) },
      traceUrl: 'https://traces.example.com/{traceId}',
      actor: evil('actor'),
      refreshMs: 250,
    })
  })
  after(async () => {
    await served?.close()
    await browser?.close()
    tracker.close()
  })

  async function fill(): Promise<void> {
    const outbox = Outbox.partitioned({ store, maxAttempts: 1, logger: silentLogger, ownerId: 'p1' })
    outbox.on(evil('type'), () => {
      throw Object.assign(new Error(evil('error')), { name: evil('class') })
    })
    await outbox.start()
    const fields = {
      orderingKey: evil('key'),
      aggregateId: evil('aggregate'),
      tenantId: evil('tenant').slice(0, 60),
      headers: { [evil('header name')]: evil('header'), traceparent: evil('trace') },
    }
    await outbox.transaction(() =>
      outbox.write(evil('type'), { [evil('name')]: evil('payload') }, fields as never),
    )
    await outbox.drain()
    await outbox.close()
    const writer = await Outbox.writerOnly({ store, logger: silentLogger }).start()
    await writer.transaction(() => writer.write(evil('waiting'), evil('payload'), fields as never))
    await writer.close()
    await store.nodes.join({ id: evil('node'), mode: 'multiNode', ttlMs: 600_000 })
    const report = {
      ...{ version: evil('version'), host: evil('host'), pid: 1, startedAt: 1, types: [evil('listener')] },
      ...{ queues: { hot: 0, cold: 0 }, held: { leased: 0, locked: 0 }, partitions: 0, hotShare: null },
      ...{
        listenerBuckets: '',
        destinations: [
          { destination: evil('to'), hasListener: true, circuitBreaker: null, queues: { hot: 0, cold: 0 } },
        ],
      },
    }
    await store.reports.report({ id: evil('node'), report: report, statistics: [] })
    const bytes = await Outbox.writerOnly({ store, logger: silentLogger }).start()
    await bytes.transaction(() =>
      bytes.write(
        'Bytes',
        new TextEncoder().encode(evil('bytes')) as never,
        { contentType: evil('content type').slice(0, 120) } as never,
      ),
    )
    await bytes.close()
    const admin = outboxAdmin({ store }).as(evil('actor'))
    await admin.run(await admin.plan('cancel', { eventType: 'Bytes' }, { reason: evil('reason') }))
    await admin.pause({ eventType: evil('paused') })
    await admin.keys.park(evil('parked'))
    const mails = new MailOutbox({ store: mailStore, logger: silentLogger })
    await mails.initSchema()
    await mails.transaction(() =>
      mails.enqueue({
        from: { name: evil('sender'), address: 'a@example.com' },
        to: { name: evil('recipient'), address: 'b@example.com' },
        subject: evil('subject'),
        attachments: [{ filename: evil('attachment'), content: 'x' }],
        html: `<link rel="preconnect" href="http://127.0.0.1:${(tracker.address() as AddressInfo).port}"><p>Mail</p>${evil('mail')}<iframe src="javascript:parent.alert(1)"></iframe><form action="/x"><button>Go</button></form>`,
      }),
    )
  }

  it('is shown as a text on every page, and never runs', async () => {
    const { page, faults, close } = await openPage(browser)
    const dead = (await outboxAdmin({ store }).browse({ status: 'DEAD', eventType: evil('type') })).events[0]!
    const mail = (await outboxAdmin({ store: mailStore }).browse()).events[0]!
    const bytes = (await outboxAdmin({ store }).browse({ eventType: 'Bytes' })).events[0]!
    const entry = (await outboxAdmin({ store }).audit.list()).entries[0]!
    const paths = [
      ['orders/overview', 'type'],
      ['orders/events', 'key'],
      [`orders/event?id=${dead.eventId}`, 'error'],
      [`orders/event?id=${dead.eventId}`, 'header name'],
      [`orders/event?id=${dead.eventId}`, 'tenant'],
      [`orders/event?id=${bytes.eventId}`, 'reason'],
      [`orders/event?id=${bytes.eventId}`, 'content type'],
      ['orders/failures', 'class'],
      [`orders/events?text=${encodeURIComponent(evil('query'))}`, 'query'],
      ['orders/replay?since=2026-01-31T12:00Z&until=nonsense', ''],
      ['orders/events?since=2026-01-31T12:00Z', ''],
      [`orders/replay?eventType=${encodeURIComponent(evil('query'))}`, ''],
      ['orders/keys', 'parked'],
      ['orders/destinations', 'paused'],
      ['orders/processes', 'host'],
      ['orders/processes', 'version'],
      ['orders/processes', 'node'],
      ['orders/processes', 'listener'],
      ['orders/destinations', 'to'],
      ['orders/health', ''],
      ['orders/audit', 'actor'],
      [`orders/run?id=${entry.id}`, ''],
      [`orders/event?id=${encodeURIComponent(evil('id'))}`, ''],
      [`${encodeURIComponent('<img src=x onerror=alert(1)>')}/overview`, ''],
      ['mails/mail', 'subject'],
      ['mails/mail', 'recipient'],
      [`mails/event?id=${mail.eventId}`, 'subject'],
      [`mails/event?id=${mail.eventId}`, 'sender'],
      [`mails/event?id=${mail.eventId}`, 'attachment'],
    ] as const
    for (const [path, shown] of paths) {
      await page.goto(served.url + path)
      await page.locator('main').waitFor()
      if (shown !== '') await page.getByText(`alert('${shown}')`).first().waitFor()
      equal(
        await page.evaluate(
          `document.querySelectorAll('#app script, #app [onerror], #app a[href^="javascript"]').length`,
        ),
        0,
        path,
      )
    }
    await page.frameLocator('iframe').getByText('Mail', { exact: true }).waitFor()
    const frame = page.frames().find((each) => each.url().includes('/preview'))!
    equal(await frame.evaluate('self.origin'), 'null')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /Type a command/ }).fill(evil('palette'))
    deepEqual(
      faults.filter(
        (fault) => !/sandboxed|status of 4\d\d|violates the following Content Security Policy/.test(fault),
      ),
      [],
    )
    await close()
  })

  it('of a mail that is opened by itself runs no script either', async () => {
    const { page, foreign, close } = await openPage(browser)
    const mail = (await outboxAdmin({ store: mailStore }).browse()).events[0]!
    await page.goto(`${served.url}api/outboxes/mails/mail/${mail.eventId}/preview`)
    equal(await page.evaluate('self.origin'), 'null')
    equal(await page.locator('p').innerText(), 'Mail')
    // What a browser connects to ahead of time is no request, and no policy forbids it.
    await page.waitForLoadState('networkidle')
    deepEqual([visits, foreign], [0, []])
    await close()
  })
})
