import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { outsideCode } from './site-links.ts'

/**
 * Puts the diagrams and charts of a page into the page itself. An image would follow the colours of the reader's
 * system, and not the switch of the site.
 */
export function inlineDiagrams(markdown: string, docs: string): string {
  return outsideCode(markdown, (text) =>
    text.replaceAll(
      /^!\[[^\]]*\]\([./]*(diagrams|charts)\/([\w-]+\.svg)\)$/gm,
      (_, folder: string, file: string) => {
        const svg = readFileSync(join(docs, folder, file), 'utf8').replace(/<style>[\s\S]*?<\/style>\n/, '')
        return `<figure class="${folder}" v-pre>${svg.replaceAll('\n', '')}</figure>`
      },
    ),
  )
}
