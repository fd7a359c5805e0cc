import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The comment in a page that the site replaces with tabs. Elsewhere a reader follows the links below it. */
const mark = /^<!-- tabs: the programs of these pages -->\n+((?:- .+\n)+)/gm

/**
 * Replaces a marked list of links to pages with tabs: the commands and the first program of each page. These are
 * the very programs that the tests follow.
 */
export function withTabs(markdown: string, docs: string): string {
  return markdown.replaceAll(mark, (_, list: string) => {
    const pages = [...list.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, title = '', file = '']) => ({
      title,
      text: readFileSync(join(docs, file), 'utf8'),
    }))
    const tabs = (language: string, block: string) =>
      `::: code-group\n\n${pages
        .map(({ title, text }) => `\`\`\`${language} [${title}]\n${firstBlock(text, block)}\`\`\`\n`)
        .join('\n')}\n:::\n`
    return `${tabs('sh', 'sh')}\n${tabs('ts', 'ts')}\n${list}`
  })
}

/** Returns the text of the first block of a language in a page. */
export function firstBlock(markdown: string, language: string): string {
  const block = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(markdown)?.[1]
  if (block === undefined) throw new Error(`A page has no block in ${language}.`)
  return block
}
