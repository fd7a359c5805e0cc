import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { outsideCode } from './site-links.ts'

/**
 * Puts the diagrams of a page into the page itself. An image would follow the colours of the reader's system, and
 * not the switch of the site.
 */
export function inlineDiagrams(markdown: string, docs: string): string {
  return outsideCode(markdown, (text) =>
    text.replaceAll(/^!\[[^\]]*\]\([./]*diagrams\/([\w-]+\.svg)\)$/gm, (_, file: string) => {
      const svg = readFileSync(join(docs, 'diagrams', file), 'utf8').replace(/<style>[\s\S]*?<\/style>\n/, '')
      return `<figure class="diagram" v-pre>${svg.replaceAll('\n', '')}</figure>`
    }),
  )
}
