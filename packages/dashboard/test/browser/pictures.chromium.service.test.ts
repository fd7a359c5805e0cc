import { deepEqual, ok } from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { outboxAdmin } from 'sendoff/admin'
import { sqliteStore } from 'sendoff/sqlite'
import type { CompleteStore } from 'sendoff/store'
import { checkAccessible, openBrowser, openPage } from './browser-page.ts'
import { addHistory } from './shop-history.ts'
import { playShop, type ShopScene } from './shop-scene.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
/** `PICTURES=folder npm test -- dashboard/test/browser/pictures` leaves a picture of every page there. */
const pictures = process.env['PICTURES']

const widths = [1280, 390]
const themes = ['light', 'dark'] as const
const skip = !isFull && pictures === undefined && 'Only at full scale.'

describe('every page', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'sendoff-pictures-'))
  const file = join(folder, 'shop.db')
  const open = (table: string) => sqliteStore({ open: () => new DatabaseSync(file), table }) as never
  let browser: Browser
  let shop: ShopScene
  let paths: Readonly<Record<string, readonly [path: string, shown: string]>>
  before(async () => {
    browser = await openBrowser()
    const close = async (): Promise<void> => rmSync(folder, { recursive: true })
    shop = await playShop({ open, query: async () => [], close }, { dead: 60 })
    const orders: CompleteStore<never> = open('orders_outbox')
    await addHistory(orders)
    const admin = outboxAdmin({ store: orders }).as('ann@example.com')
    await admin.pause({ eventType: 'OrderRefunded' })
    const plan = await admin.plan('replay', { eventType: 'OrderPlaced', destination: 'mail' })
    const stop = new AbortController()
    const { id } = await admin.run(plan, {
      batchSize: 20,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    })
    const mail = (await outboxAdmin({ store: open('mail_outbox') }).browse()).events.at(-1)!
    paths = {
      overview: ['orders/overview', 'dead events'],
      events: ['orders/events?status=DEAD', 'OrderPlaced'],
      event: [`orders/event?id=${shop.orderId}&destination=partners`, 'HttpError'],
      failures: ['orders/failures', 'ConnectionError'],
      replay: ['orders/replay?status=DEAD&eventType=OrderPlaced&destination=mail', 'Preview'],
      run: [`orders/run?id=${id}`, 'stopped'],
      keys: ['payments/keys', 'customer-17'],
      destinations: ['orders/destinations', 'breaker open'],
      processes: ['orders/processes', 'shop-1.internal'],
      mail: ['mails/mail', 'Your invoice'],
      'mail-preview': [`mails/event?id=${mail.eventId}`, 'Pictures from elsewhere'],
      health: ['orders/health', 'What the doctor finds'],
      audit: ['orders/audit', 'OrderRefunded'],
      empty: ['payments/mail', 'No mail here'],
      nowhere: ['orders/nothing', 'There is no such page'],
    }
  })
  after(async () => {
    await browser?.close()
    await shop?.close()
  })

  for (const width of widths) {
    for (const theme of themes) {
      it(`is accessible, fits and makes no fault at ${width} px, ${theme}`, async () => {
        const viewport = { width, height: width < 500 ? 844 : 860 }
        const { page, faults, foreign, close } = await openPage(browser, {
          viewport,
          colorScheme: theme,
          isMobile: width < 500,
        })
        for (const [name, [path, shown]] of Object.entries(paths)) {
          await page.goto(shop.url + path)
          await page.locator('main').getByText(shown).first().waitFor()
          if (name === 'replay') {
            await page.getByRole('button', { name: 'Preview' }).click()
            await page.getByRole('list', { name: 'Sample' }).waitFor()
          }
          await page.waitForLoadState('load')
          await checkAccessible(page, `${name} at ${width} px, ${theme}`)
          ok(await fits(page), `${name} is wider than ${width} px`)
          await keepPicture(page, `${name}-${width}-${theme}`)
        }
        if (width < 500) {
          await page.getByRole('button', { name: 'Menu' }).click()
          await checkAccessible(page, `menu at ${width} px, ${theme}`)
          await keepPicture(page, `menu-${width}-${theme}`)
        }
        await page.goto(`${shop.url}orders/overview`)
        await page.locator('main').getByText('dead events').first().waitFor()
        // By now, its charts have a while to show.
        await keepPicture(page, `overview-${width}-${theme}`)
        await page.keyboard.press('Control+k')
        await page.getByRole('listbox', { name: 'Commands' }).getByRole('option').first().waitFor()
        await checkAccessible(page, `palette at ${width} px, ${theme}`)
        await keepPicture(page, `palette-${width}-${theme}`)
        deepEqual(faults, [])
        deepEqual(foreign, [])
        await close()
      })
    }
  }
})

/** Whether nothing makes the page scroll sideways. */
function fits(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth')
}

async function keepPicture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return
  mkdirSync(pictures, { recursive: true })
  await page.screenshot({ path: join(pictures, `${name}.png`) })
}
