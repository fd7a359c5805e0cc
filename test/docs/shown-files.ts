import { existsSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** `<!-- file: path -->`: the block after it shows this file of the project, as it is. */
const marker = /^<!-- file: (\S+) -->$/

/** Languages of blocks, by the extension of the file that they show. */
const languages: Readonly<Record<string, string>> = {
  '.ts': 'ts',
  '.tsx': 'tsx',
  '.yaml': 'yaml',
  '.json': 'json',
  '': 'dockerfile',
}

/** Returns the path in a line that marks the next block as a file of the project; undefined in others. */
export function shownFile(line: string): string | undefined {
  return marker.exec(line)?.[1]
}

/** Returns the paths of the files that a page shows, in their order. */
export function shownFiles(markdown: string): readonly string[] {
  return markdown.split('\n').flatMap((line) => shownFile(line) ?? [])
}

/**
 * Returns the page with the present text of every file that it shows. A page that is up to date returns as it
 * was. A marker without a block gets one.
 */
export function withShownFiles(markdown: string): string {
  return markdown.replaceAll(
    /^<!-- file: (\S+) -->\n\n(```\w+\n[\s\S]*?^```$)?/gm,
    (_, file: string, block: string | undefined) =>
      `<!-- file: ${file} -->\n\n\`\`\`${languageOf(file)}\n${textOf(file)}\`\`\`${block === undefined ? '\n\n' : ''}`,
  )
}

function languageOf(file: string): string {
  const language = languages[extname(file)]
  if (language === undefined)
    throw new Error(`A page shows ${file}: give its language in test/docs/shown-files.ts`)
  return language
}

function textOf(file: string): string {
  const path = join(root, file)
  if (!existsSync(path)) throw new Error(`A page shows ${file}, which does not exist.`)
  return readFileSync(path, 'utf8')
}
