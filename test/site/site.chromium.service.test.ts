import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { openBrowser, openPage } from '../../packages/dashboard/test/browser/browser-page.ts'
import { searchQuestions } from '../../site/search/search-questions.ts'
import { SiteSearch } from '../../site/search/site-search.ts'
import { BuiltSite } from './built-site.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
/** `PICTURES=folder npm test -- test/site` leaves pictures of the pages below there. */
const pictures = process.env['PICTURES']
const skip = !isFull && pictures === undefined && 'npm run test:full builds the site'

const shownPages = [
  'index',
  'getting-started',
  'how-it-works',
  'choosing-a-mode',
  'order',
  'destinations',
  'inbox',
  'performance',
  'options',
  'api/sendoff/postgres',
]

describe('the site', { skip }, () => {
  let site: BuiltSite
  let browser: Browser
  before(async () => {
    site = await BuiltSite.build()
    browser = await openBrowser()
  })
  after(async () => {
    await browser.close()
    site.close()
  })

  it('has the reference of every subpath', () => {
    for (const page of ['sendoff', 'sendoff/postgres', 'sendoff/transactions/drizzle', '@sendoff/nestjs']) {
      equal(site.pages.includes(`api/${page}.html`), true, page)
    }
  })

  it('has no dead links', () => {
    equal(site.pages.length > 100, true)
    deepEqual([...new Set(site.pages.flatMap((page) => site.deadLinksOf(page)))], [])
  })

  it('finds the right page first', async () => {
    const search = await SiteSearch.load(site.folder)
    const found = searchQuestions.map(([words]) => [words, search.pagesFor(words)[0]])
    deepEqual(found, searchQuestions)
  })

  it('finds it in the browser, too', async () => {
    const { page, faults, foreign, close } = await openPage(browser)
    await page.goto(site.address)
    for (const [words, expected] of searchQuestions.filter((_, index) => index % 7 === 0)) {
      await page.keyboard.press('Control+k')
      await page.fill('#localsearch-input', words)
      const first = page.locator('#localsearch-list a').first()
      await first.waitFor()
      match((await first.getAttribute('href'))!, new RegExp(`^/${expected}(?:\\.html)?(?:#|$)`), words)
      await page.keyboard.press('Escape')
      await page.locator('#localsearch-input').waitFor({ state: 'detached' })
    }
    deepEqual([faults, foreign], [[], []])
    await close()
  })

  it('fits on a screen and on a phone, light and dark', async () => {
    for (const [width, height] of [
      [1280, 900],
      [390, 844],
    ] as const) {
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page, faults, foreign, close } = await openPage(browser, {
          viewport: { width, height },
          colorScheme,
        })
        for (const name of shownPages) {
          await page.goto(`${site.address}${name}.html`)
          equal(await page.evaluate('document.documentElement.scrollWidth'), width, `${name} at ${width}`)
          equal(
            await page.evaluate(`document.documentElement.classList.contains('dark')`),
            colorScheme === 'dark',
          )
          if (pictures !== undefined) {
            mkdirSync(pictures, { recursive: true })
            const file = `${name.replaceAll('/', '-')}-${width}-${colorScheme}.png`
            await page.screenshot({ path: join(pictures, file), fullPage: width === 390 })
          }
        }
        deepEqual([faults, foreign], [[], []])
        await close()
      }
    }
  })

  it('has no page that is wider than a phone', async () => {
    const { page, close } = await openPage(browser, { viewport: { width: 390, height: 844 } })
    const wide: string[] = []
    for (const name of site.pages) {
      await page.goto(`${site.address}${name}`, { waitUntil: 'domcontentloaded' })
      if ((await page.evaluate('document.documentElement.scrollWidth')) !== 390) wide.push(name)
    }
    deepEqual(wide, [])
    await close()
  })
})
