import { ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** A browser for a test file. Close it at the end: that ends its pages, and leaves the program to others. */
export function openBrowser(): Promise<Browser> {
  return chromium.connectOverCDP(process.env['CHROMIUM_URL']!)
}

/** A page, and everything that went wrong in it. */
export interface WatchedPage {
  readonly page: Page
  /** Errors of scripts, of the content security policy, and of requests that failed by themselves. */
  readonly faults: string[]
  /** Addresses on other hosts that the page asked for. */
  readonly foreign: string[]
  readonly close: () => Promise<void>
}

/** Opens a page in a context of its own. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  const faults: string[] = []
  const foreign: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  page.on('dialog', (dialog) => {
    faults.push(`a script showed: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url())
    if (protocol !== 'data:' && hostname !== '127.0.0.1') foreign.push(request.url())
  })
  return { page, faults, foreign, close: () => context.close() }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']

/** Fails if the page breaks a rule of accessibility. */
export async function checkAccessible(page: Page, what: string): Promise<void> {
  // The policy of the page allows no foreign script, so it comes through the debugger.
  await page.evaluate(axe)
  const violations = await page.evaluate<readonly string[]>(`(async () => {
    const { violations } = await axe.run(document, { runOnly: ${JSON.stringify(rules)} })
    return violations.map(({ id, nodes }) =>
      id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | '))
  })()`)
  ok(violations.length === 0, `${what}:\n${violations.join('\n')}`)
}
