import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { after, before, describe, it, type TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { Outbox, silentLogger } from 'sendoff'
import type { OutboxAdmin, Overview } from 'sendoff/admin'
import { serveDashboard } from '../../src/index.ts'
import { filledOutbox } from '../filled-outbox.ts'
import { openBrowser, openPage, type WatchedPage } from './browser-page.ts'

const refreshMs = 50
const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

describe('the page', { skip: !isFull && 'Only at full scale.' }, () => {
  let browser: Browser
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser?.close())

  /** Serves an outbox, and returns how to open its pages. Nothing may go wrong in any of them. */
  async function served(test: TestContext, admin: OutboxAdmin<never>) {
    const dashboard = await serveDashboard({ admins: { orders: admin }, refreshMs })
    const pages: WatchedPage[] = []
    test.after(async () => {
      for (const { page } of pages) await page.close()
      await dashboard.close()
      deepEqual(
        pages.flatMap(({ faults }) => faults),
        [],
      )
    })
    return async (path: string): Promise<Page> => {
      const watched = await openPage(browser)
      pages.push(watched)
      await watched.page.goto(`${dashboard.url}orders/${path}`)
      return watched.page
    }
  }

  it('shows problems before anything else, the gravest ones first', async (test) => {
    const { admin } = await filledOutbox({ dead: 2, waiting: 1 })
    const open = await served(test, withOverview(admin, everyProblem))
    const page = await open('overview')
    const list = page.getByRole('list', { name: 'Problems' })
    await list.waitFor()
    deepEqual(await list.locator('li .strong').allInnerTexts(), [
      '2 dead events',
      '3 blocked events',
      'Delivery lags by 3 min',
      'No listener',
      '1 paused',
      '1 parked key',
    ])
    const order = `document.querySelector('.problems').compareDocumentPosition(document.querySelector('.figures'))`
    equal(await page.evaluate(order), 4, 'the figures stand before the problems')
    await list.getByRole('link', { name: 'See what waits' }).click()
    await page.getByRole('region', { name: 'Events' }).getByText('OrderPaid').first().waitFor()
  })

  it('reads nothing while it is hidden, and goes on when it is shown', async (test) => {
    const { admin, store } = await filledOutbox({ dead: 1 })
    const calls: string[] = []
    const open = await served(test, counted(admin, calls))
    const page = await open('overview')
    await page.getByText('1 dead event').waitFor()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))

    await setHidden(page, true)
    // A read that was under way may end.
    await wait(2 * refreshMs)
    requests.length = calls.length = 0
    await writeDead(store)
    await wait(6 * refreshMs)
    deepEqual([calls, requests], [[], []])

    await setHidden(page, false)
    await page.getByText('2 dead events').waitFor()
    match(requests.join(), /stream/)
  })

  it('costs the database no more in five windows than in one', async (test) => {
    const { admin } = await filledOutbox({ dead: 3 })
    const calls: string[] = []
    const open = await served(test, counted(admin, calls))
    /** What is read for each message of the stream, on average of many. */
    const costs = async (): Promise<number> => {
      calls.length = 0
      const messages = (): number => calls.filter((name) => name === 'overview').length
      while (messages() < 12) await wait(refreshMs)
      return calls.length / messages()
    }
    const pages = [await open('events?status=DEAD')]
    await pages[0]!.getByText('OrderPlaced').first().waitFor()
    const one = await costs()
    for (let count = 1; count < 5; count++) pages.push(await open('events?status=DEAD'))
    for (const page of pages) await page.getByText('OrderPlaced').first().waitFor()
    const five = await costs()
    ok(five <= one * 1.5, `${five.toFixed(1)} calls for each message, and ${one.toFixed(1)} with one window`)
  })

  it('has a search in its address, and the address shows the same to others', async (test) => {
    const { admin } = await filledOutbox({ dead: 2, waiting: 3 })
    const open = await served(test, admin)
    const page = await open('events')
    await page.getByRole('button', { name: 'Dead' }).click()
    await page.getByLabel('Search in').selectOption('eventType')
    await page.getByLabel('Search by Type').fill('OrderPlaced')
    await page.keyboard.press('Enter')
    await page.getByRole('list', { name: 'Filter' }).getByText('OrderPlaced').waitFor()
    const { pathname, search } = new URL(page.url())
    const other = await open(`${pathname.split('/').at(-1)}${search}`)
    const rows = other.getByRole('region', { name: 'Events' }).getByRole('row')
    await rows.nth(2).waitFor()
    equal(await rows.count(), 3)
    equal(await other.getByRole('button', { name: 'Dead' }).getAttribute('aria-pressed'), 'true')
    await other.getByRole('button', { name: 'Remove Type' }).click()
    await other.getByRole('list', { name: 'Filter' }).waitFor({ state: 'detached' })
  })

  it('turns the pages of a list, forth and back', async (test) => {
    const { admin } = await filledOutbox({ waiting: 60 })
    const open = await served(test, admin)
    const page = await open('events?limit=25')
    const shown = page.getByRole('region', { name: 'Events' }).locator('tbody tr')
    await shown.nth(24).waitFor()
    const seen = new Set<string>()
    const note = async (count: number): Promise<void> => {
      await page.waitForFunction(`document.querySelectorAll('tbody tr').length === ${count}`)
      const ids = `[...document.querySelectorAll('tbody .c-id [title]')].map(({ title }) => title)`
      for (const id of await page.evaluate<readonly string[]>(ids)) seen.add(id)
    }
    await note(25)
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByRole('button', { name: 'First page' }).waitFor()
    await page.waitForFunction(`!document.querySelector('.is-loading')`)
    await note(25)
    await page.getByRole('button', { name: 'Next page' }).click()
    await note(10)
    equal(seen.size, 60)
    await page.goBack()
    await note(25)
    equal(seen.size, 60)
  })

  it('turns the pages of the keys that wait', async (test) => {
    const { admin } = await filledOutbox()
    const names = Array.from({ length: 103 }, (_, index) => `customer-${1_000 + index}`)
    for (const name of names) await admin.as('bob').keys.park(name)
    const open = await served(test, admin)
    const page = await open('keys')
    const keys = page.getByRole('list', { name: 'Keys' }).getByRole('listitem')
    await keys.nth(99).waitFor()
    equal(await keys.count(), 100)
    await page.getByRole('link', { name: 'Next page' }).click()
    await page.getByText('customer-1102').waitFor()
    equal(await keys.count(), 3)
    await page.getByRole('link', { name: 'First page' }).click()
    await page.getByText('customer-1000').waitFor()
  })

  it('shows bytes as bytes, and a large number as it is', async (test) => {
    const { admin, store } = await filledOutbox()
    const writer = await Outbox.writerOnly<unknown>({ store, logger: silentLogger }).start()
    const [bytes, number] = await writer.transaction(async () => [
      await writer.write('Picture', new Uint8Array([0, 255, 60, 98]), { contentType: 'image/png' } as never),
      await writer.write('Invoice', { number: exact('12345678901234567890.10') }),
    ])
    await writer.close()
    const open = await served(test, admin)
    const picture = await open(`event?id=${bytes}`)
    await picture.getByText('4 B of bytes, image/png').waitFor()
    await picture.getByText(/^00000000 {2}00 ff 3c 62 .*··<b$/).waitFor()
    const invoice = await open(`event?id=${number}`)
    await invoice.getByText('12345678901234567890.10', { exact: true }).waitFor()
  })
})

/** A number that JavaScript cannot hold. */
function exact(number: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(number)
}

/** Hides the page, as a browser does when another tab is in front. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(
    `Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`,
  )
}

async function writeDead(store: Awaited<ReturnType<typeof filledOutbox>>['store']): Promise<void> {
  const outbox = Outbox.multiNode({ store, maxAttempts: 1, logger: silentLogger })
  outbox.on('OrderPlaced', () => Promise.reject(new Error('no')))
  await outbox.start()
  await outbox.transaction(() => outbox.write('OrderPlaced', {}))
  await outbox.drain()
  await outbox.close()
}

type Admin = OutboxAdmin<never>

/** An admin that notes the name of each call. */
function counted(admin: Admin, calls: string[]): Admin {
  return new Proxy(admin, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'as') return (actor: string) => counted(target.as(actor), calls)
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => {
        calls.push(String(name))
        return Reflect.apply(value, target, given) as unknown
      }
    },
  })
}

function withOverview(admin: Admin, change: (overview: Overview) => Overview): Admin {
  return new Proxy(admin, {
    get(target, name) {
      if (name === 'overview') return async () => change(await target.overview())
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** An overview that has everything that can be wrong while workers live. */
function everyProblem(overview: Overview): Overview {
  const worker = { id: 'shop-1', mode: 'multiNode', startedAt: 1, ttlMs: 1, report: null, reportedAt: null }
  return {
    ...overview,
    counts: { ...overview.counts, BLOCKED: { count: 3, isExact: true } },
    oldestDue: { eventId: 'e-1', destination: '', eventType: 'OrderPaid', availableAt: 1, ageMs: 180_000 },
    paused: [{ eventType: 'OrderSent' }],
    blockedKeys: [{ orderingKey: 'customer-17', destination: '' }],
    parkedKeys: ['customer-18'],
    processes: [worker],
    typesWithoutListener: ['OrderPaid'],
  }
}
