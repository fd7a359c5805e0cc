import { deepEqual, equal, ok } from 'node:assert/strict'
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser, openPage } from '../../packages/dashboard/test/browser/browser-page.ts'
import { diagrams } from '../../site/diagrams/diagrams.ts'
import { readPackageModules } from '../docs/package-modules.ts'
import { searchQuestions } from '../../site/search/search-questions.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import { projectRoot } from '../workspace.ts'
import { buildSite, type ServedSite, serveSite } from './built-site.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
/** `PICTURES=folder npm test -- site.chromium` leaves a picture of every page there. */
const pictures = process.env['PICTURES']
/** `SITE=site/dist` tries a site that is built already. */
const builtBefore = process.env['SITE']

const widths = [1280, 390]
const themes = ['light', 'dark'] as const
const skip = !isFull && pictures === undefined && 'Only at full scale.'

describe('the built site', { skip }, () => {
  const temporary = temporaryFolder('site')
  const folder = builtBefore ?? join(temporary.path, 'dist')
  let browser: Browser
  let site: ServedSite
  let files: readonly string[]
  before(async () => {
    if (builtBefore === undefined) buildSite(folder)
    files = globSync('**/*.html', { cwd: folder })
      .map((file) => file.replaceAll(sep, '/'))
      .toSorted()
    site = await serveSite(folder)
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    site?.close()
    temporary.remove()
  })

  it('has no link and no picture that leads nowhere', () => {
    const pages = new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
    const dead = [...pages].flatMap(([file, html]) =>
      linksOf(html)
        .filter((link) => !leadsSomewhere(folder, pages, file, link))
        .map((link) => `${file}: ${link}`),
    )
    equal(pages.size > 100, true)
    deepEqual(dead, [])
  })

  it('has the reference of every subpath of every package', () => {
    const subpaths = globSync('packages/*/package.json', { cwd: projectRoot }).flatMap((file) => {
      const manifest = JSON.parse(readFileSync(join(projectRoot, file), 'utf8')) as Manifest
      const names = Object.keys(manifest.exports).filter((name) => name !== './package.json')
      return names.map((name) => posix.join(manifest.name, name))
    })
    const pages = files.flatMap((file) => /^api\/(.+)\.html$/.exec(file)?.[1] ?? [])
    deepEqual(pages.filter((page) => page !== 'index').toSorted(), subpaths.toSorted())
  })

  it('has a heading for every name that a subpath exports, and for no other', () => {
    for (const { subpath, exported } of readPackageModules().modules) {
      const html = readFileSync(join(folder, 'api', `${subpath}.html`), 'utf8')
      const headings = [...html.matchAll(/<h3 id="[^"]*" tabindex="-1">(.*?) ?<a class="header-anchor"/g)]
      const named = headings.map(([, text = '']) =>
        text.replaceAll(/<[^>]*>|\(\)$/g, '').replace('abstract ', ''),
      )
      // A name that is both a type and a value has two headings.
      deepEqual([...new Set(named)].toSorted(), exported.map(({ name }) => name).toSorted(), subpath)
    }
  })

  it('draws every diagram in a page', () => {
    const html = files.map((file) => readFileSync(join(folder, file), 'utf8')).join('')
    equal(html.match(/<figure class="diagrams"/g)?.length, diagrams.length)
  })

  it('finds the right page first for what readers ask', async () => {
    const { page, faults, foreign, close } = await openPage(browser)
    await open(page, `${site.url}getting-started.html`)
    await page.getByRole('button', { name: 'Search' }).first().click()
    const field = page.locator('#localsearch-input')
    const result = page.locator('.VPLocalSearchBox .result').first()
    const found: (readonly [string, string])[] = []
    for (const [words] of searchQuestions) {
      await field.fill('')
      await result.waitFor({ state: 'detached' })
      await field.fill(words) // at once, so that no result is one of the first letters
      await result.waitFor()
      found.push([words, pageOf(await result.getAttribute('href'))])
    }
    deepEqual(found, searchQuestions)
    deepEqual(faults, [])
    deepEqual(foreign, [])
    await close()
  })

  it('leads from the search to the answer, by the keyboard alone', async () => {
    const { page, close } = await openPage(browser)
    await open(page, site.url)
    await page.keyboard.press('Control+k')
    await page.locator('#localsearch-input').pressSequentially('replay dead events')
    await page.locator('.VPLocalSearchBox .result.selected[href^="/failures.html#"]').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/failures.html#*')
    await page.getByRole('heading', { name: 'Failures', level: 1 }).waitFor()
    await close()
  })

  it('shows the program of the ORM that a reader picks', async () => {
    const { page, close } = await openPage(browser)
    await open(page, `${site.url}getting-started.html`)
    const programs = page.locator('.vp-code-group').nth(1)
    const tabs = programs.locator('.tabs label')
    const names = await tabs.allInnerTexts()
    equal(names.length, 7)
    for (const name of names) {
      await programs.locator('.tabs').getByText(name, { exact: true }).click()
      const shown = programs.locator('.blocks > div.active')
      equal(await shown.count(), 1)
      const folder = name === 'MikroORM' ? 'mikro-orm' : name.toLowerCase()
      ok((await shown.innerText()).includes(`sendoff/transactions/${folder}`), name)
    }
    await close()
  })

  for (const width of widths) {
    for (const theme of themes) {
      it(`fits and makes no fault at ${width} px, ${theme}`, async () => {
        const { page, faults, foreign, close } = await openPage(browser, {
          viewport: { width, height: width < 500 ? 844 : 860 },
          colorScheme: theme,
          isMobile: width < 500,
        })
        for (const file of files.filter((each) => !each.startsWith('api/') && each !== '404.html')) {
          await open(page, site.url + file)
          await page.locator('h1').first().waitFor()
          equal(await page.locator('html.dark').count(), theme === 'dark' ? 1 : 0)
          deepEqual(await tooWide(page), [], `${file} is wider than ${width} px`)
          await keepPicture(page, `${file.replace('.html', '').replaceAll('/', '-')}-${width}-${theme}`)
        }
        deepEqual(faults, [])
        deepEqual(foreign, [])
        await close()
      })
    }
  }
})

/** Opens a page of the site, and waits until its scripts listen to the reader. */
async function open(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.waitForFunction(`document.querySelector('#app')?.__vue_app__ !== undefined`)
}

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
}

function linksOf(html: string): readonly string[] {
  const shown = html.replaceAll(/<script[\s\S]*?<\/script>/g, '')
  return [...shown.matchAll(/(?:href|src)="([^"]*)"/g)]
    .map(([, link = '']) => link.replaceAll('&amp;', '&'))
    .filter((link) => !/^[a-z]+:/.test(link))
}

/** Whether a link of a page leads to a file of the site, and to an element of it that has the name. */
function leadsSomewhere(
  folder: string,
  pages: ReadonlyMap<string, string>,
  from: string,
  link: string,
): boolean {
  const { pathname, hash } = new URL(link, `http://site/${from}`)
  const path = decodeURIComponent(pathname).slice(1)
  const file = path === '' || path.endsWith('/') ? posix.join(path, 'index.html') : path
  const html = pages.get(file)
  if (html === undefined) return existsSync(join(folder, file))
  const name = decodeURIComponent(hash.slice(1))
  return name === '' || html.includes(`id="${name}"`)
}

/** Returns the name of the page that a link leads to, without its heading. */
function pageOf(href: string | null): string {
  return (href ?? '').replace(/^\/|(?:\.html)?(?:#.*)?$/g, '')
}

/** Returns what makes the page scroll sideways: the elements that reach beyond its right edge. */
function tooWide(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    return [...document.querySelectorAll('main *, .VPHome *')]
      .filter((element) => element.getBoundingClientRect().right > clientWidth + 1)
      .map((element) => element.outerHTML.slice(0, 120))
      .slice(0, 5)
  })()`)
}

async function keepPicture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return
  mkdirSync(pictures, { recursive: true })
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
}
