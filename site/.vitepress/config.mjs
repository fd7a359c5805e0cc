// The site of the documentation. VitePress is a dependency of the site alone, so this file is JavaScript.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { defineConfig } from 'vitepress'
import { headingAnchor } from '../pages/heading-anchor.ts'
import { readNavigation } from '../pages/read-navigation.ts'
import { placeOf } from '../pages/site-links.ts'
import { tableLabels } from '../pages/table-labels.ts'
import { boostDocument } from '../search/boost-document.ts'
import { prefix, processTerm, tokenize } from '../search/search-terms.ts'

const root = resolve(import.meta.dirname, '../..')
const docs = join(root, 'docs')
const address = (file) => `/${placeOf(`docs/${file}`).replace(/(index)?\.md$/, '')}`

/** A letter that leaves its box. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#5468d4"/><path d="M4 9v3h8V9M8 10V3M5 6l3-3 3 3" fill="none" stroke="#fff" stroke-width="1.6"/></svg>'

const sidebar = readNavigation(docs).map(({ title, pages }, index) => ({
  text: title,
  collapsed: index > 3,
  items: pages.map(({ title: text, file }) => ({ text, link: address(file), ...itemsBelow(file) })),
}))

/** The pages of a folder that belongs to a page: `orms/` to `orms.md`, `recipes/` to `recipes/README.md`. */
function itemsBelow(file) {
  const folder = file.replace(/(\/README)?\.md$/, '')
  if (folder === 'decisions' || !existsSync(join(docs, folder))) return {}
  const items = globSync(`${folder}/*.md`, { cwd: docs })
    .filter((page) => basename(page) !== 'README.md')
    .sort()
    .map((page) => ({ text: titleOf(page), link: address(page) }))
  return items.length === 0 ? {} : { collapsed: true, items }
}

function titleOf(page) {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(docs, page), 'utf8')) ?? []
  return title?.replaceAll('`', '') ?? basename(page, '.md')
}

export default defineConfig({
  title: 'Sendoff',
  description:
    'A transactional outbox for TypeScript: events written with your data, delivered at least once',
  lang: 'en',
  srcDir: '.pages',
  cacheDir: '.vitepress/cache',
  cleanUrls: false,
  lastUpdated: false,
  head: [
    ['meta', { name: 'theme-color', content: '#5468d4' }],
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }],
  ],
  markdown: {
    anchor: { slugify: headingAnchor },
    theme: { light: 'github-light', dark: 'github-dark' },
    config: tableLabels,
  },
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    nav: [
      { text: 'Get started', link: '/getting-started' },
      { text: 'How it works', link: '/how-it-works' },
      { text: 'Guides', link: '/contents' },
      { text: 'Options', link: '/options' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: [
      ...sidebar,
      {
        text: 'API reference',
        collapsed: true,
        items: [{ text: 'Every subpath', link: '/api/' }, ...apiPages()],
      },
      {
        text: 'The project',
        collapsed: true,
        items: [
          { text: 'Architecture', link: '/architecture' },
          { text: 'Decisions', link: '/decisions/' },
          { text: 'Changelog', link: '/changelog' },
          { text: 'Contributing', link: '/contributing' },
          { text: 'Reporting a vulnerability', link: '/security-policy' },
        ],
      },
    ],
    outline: { level: [2, 3] },
    socialLinks: [{ icon: 'github', link: 'https://github.com/sendoff-outbox/sendoff' }],
    search: {
      provider: 'local',
      options: {
        miniSearch: { options: { tokenize, processTerm }, searchOptions: { boostDocument, prefix } },
      },
    },
    footer: { message: 'MIT licensed.' },
  },
})

function apiPages() {
  const folder = resolve(import.meta.dirname, '../.pages/api')
  return globSync('**/*.md', { cwd: folder })
    .filter((page) => page !== 'index.md')
    .map((page) => page.replace(/\.md$/, ''))
    .sort()
    .map((page) => ({ text: page, link: `/api/${page}` }))
}
