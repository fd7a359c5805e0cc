import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { inlineDiagrams } from './inline-diagrams.ts'
import { firstBlock, withTabs } from './orm-tabs.ts'
import { placeOf, rootPages, withSiteLinks } from './site-links.ts'

/**
 * Copies the pages of the project to where the site is built from. It changes what only a site can show: tabs,
 * diagrams that follow its colours, and links. It leaves out code that only the tests run.
 */
export function preparePages(root: string, out: string): void {
  const pages = [...Object.keys(rootPages), ...globSync('docs/**/*.md', { cwd: root })]
  for (const page of pages.map((each) => each.replaceAll(sep, '/'))) {
    const markdown = readFileSync(join(root, page), 'utf8')
    write(join(out, placeOf(page)!), preparePage(root, page, markdown))
  }
  for (const folder of ['charts', 'pictures']) {
    cpSync(join(root, 'docs', folder), join(out, folder), { recursive: true })
  }
  const program = firstBlock(readFileSync(join(root, 'README.md'), 'utf8'), 'ts')
  const home = readFileSync(join(root, 'site/home.md'), 'utf8')
  write(
    join(out, 'index.md'),
    home.replace('<!-- the program of the readme -->', () => `\`\`\`ts\n${program}\`\`\``),
  )
}

function preparePage(root: string, page: string, markdown: string): string {
  const docs = join(root, 'docs')
  const shown = withTabs(markdown, docs).replaceAll(/<!-- snippet:[\s\S]*?-->\n*/g, '')
  return inlineDiagrams(withSiteLinks(shown, page), docs)
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
