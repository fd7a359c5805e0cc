import { deepEqual, equal, match } from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix, sep } from 'node:path'
import { describe, it } from 'node:test'
import { diagrams } from '../../site/diagrams/diagrams.ts'
import { svgOf } from '../../site/diagrams/drawing.ts'
import { withTabs } from '../../site/pages/orm-tabs.ts'
import { preparePages } from '../../site/pages/prepare-pages.ts'
import { readNavigation } from '../../site/pages/read-navigation.ts'
import { withSiteLinks } from '../../site/pages/site-links.ts'
import { searchQuestions } from '../../site/search/search-questions.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import { projectRoot } from '../workspace.ts'

const docs = join(projectRoot, 'docs')
const pages = globSync('**/*.md', { cwd: docs }).map((page) => page.replaceAll(sep, '/'))

describe('the pages of the site', () => {
  it('are all in the navigation, or in the list of their folder', () => {
    const listed = readNavigation(docs).flatMap((group) => group.pages.map(({ file }) => file))
    deepEqual(listed.toSorted(), [...new Set(listed)].toSorted(), 'a page is listed twice')
    deepEqual(
      listed.filter((file) => !pages.includes(file)),
      [],
    )
    const readme = readFileSync(join(docs, 'README.md'), 'utf8')
    const isListed = (page: string): boolean =>
      page === 'README.md' ||
      readme.includes(`](${page})`) ||
      listOf(page).includes(`](${posix.basename(page)})`)
    deepEqual(
      pages.filter((page) => !isListed(page)),
      [],
      'add these pages to docs/README.md',
    )
  })

  it('link to each other, and have their pictures', () => {
    const folder = temporaryFolder('site-pages')
    preparePages(projectRoot, folder.path)
    const prepared = globSync('**/*.md', { cwd: folder.path })
    equal(prepared.length > pages.length, true)
    const dead = prepared.flatMap((page) =>
      [...readFileSync(join(folder.path, page), 'utf8').matchAll(/\]\((\.[^)#\s]+)/g)]
        .filter(([, target = '']) => !existsSync(join(folder.path, dirname(page), target)))
        .map(([, target]) => `${page}: ${target}`),
    )
    deepEqual(dead, [])
    match(
      readFileSync(join(folder.path, 'index.md'), 'utf8'),
      /```ts\n\/\/ first\.mjs\nimport [\s\S]+await outbox\.close\(\)\n```\n/,
    )
    const shown = readFileSync(join(folder.path, 'getting-started.md'), 'utf8')
    match(shown, /::: code-group\n\n```sh \[Drizzle\]\nnpm install sendoff drizzle-orm pg\n/)
    match(readFileSync(join(folder.path, 'order.md'), 'utf8'), /<figure class="diagrams" v-pre><svg /)
    equal(readFileSync(join(folder.path, 'order.md'), 'utf8').includes('<!-- snippet'), false)
    folder.remove()
  })

  it('have the diagrams that the site draws', () => {
    for (const drawing of diagrams) {
      equal(
        readFileSync(join(docs, 'diagrams', `${drawing.name}.svg`), 'utf8'),
        svgOf(drawing),
        'draw them again: node site/diagrams/draw.ts',
      )
    }
    equal(globSync('*.svg', { cwd: join(docs, 'diagrams') }).length, diagrams.length)
  })

  it('have an answer for each of thirty questions', () => {
    equal(searchQuestions.length >= 30, true)
    deepEqual(
      searchQuestions.filter(([, page]) => !pages.includes(`${page}.md`)),
      [],
    )
  })
})

describe('links of a page', () => {
  it('lead to its neighbours, to the pages of the root, and otherwise to the repository', () => {
    const links =
      '[a](../README.md#use) [b](orms/drizzle.md) [c](relay/x.Dockerfile) [d](#here) [e](https://x.y)'
    equal(
      withSiteLinks(links, 'docs/page.md'),
      '[a](./readme.md#use) [b](./orms/drizzle.md) ' +
        '[c](https://github.com/sendoff-outbox/sendoff/blob/main/docs/relay/x.Dockerfile) [d](#here) [e](https://x.y)',
    )
    equal(
      withSiteLinks('[a](../README.md) [b](README.md)', 'docs/orms/x.md'),
      '[a](../contents.md) [b](./index.md)',
    )
    equal(withSiteLinks('```text\n[a](b.md)\n```', 'docs/page.md'), '```text\n[a](b.md)\n```')
  })
})

describe('tabs', () => {
  it('need a program on each page', () => {
    const list = '<!-- tabs: the programs of these pages -->\n\n- [Options](options.md)\n'
    try {
      withTabs(list, docs)
    } catch (error) {
      return match(String(error), /has no block in sh/)
    }
    throw new Error('A page without a program made a tab.')
  })
})

/** Returns the text of the page that lists the pages of a folder: its `README.md`, or the page of its name. */
function listOf(page: string): string {
  const folder = posix.dirname(page)
  return [`${folder}/README.md`, `${folder}.md`]
    .filter((file) => file !== page && existsSync(join(docs, file)))
    .map((file) => readFileSync(join(docs, file), 'utf8').replaceAll(`](${posix.basename(folder)}/`, ']('))
    .join('\n')
}
