import { proseOf, type Prose } from './prose.ts'

/** A paragraph, list item, table cell or heading of a page. */
export interface PageBlock extends Prose {
  readonly isHeading: boolean
}

/** The prose of a Markdown page: without code blocks, and with every code span as the one word `CODE`. */
export function readPage(markdown: string): readonly PageBlock[] {
  const blocks: PageBlock[] = []
  let open: { line: number; text: string }[] = []
  let fence: string | undefined

  const close = (): void => {
    if (open.length > 0) blocks.push({ ...plain(open), isHeading: false })
    open = []
  }
  for (const [index, raw] of withoutComments(markdown).split('\n').entries()) {
    const line = index + 1
    const text = raw.replace(/^\s*(?:>\s?)+/, '')
    const mark = /^\s*(```+|~~~+)/.exec(text)?.[1]
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined
      continue
    }
    if (mark !== undefined) {
      close()
      fence = mark
    } else if (/^#+ /.test(text)) {
      close()
      blocks.push({ ...plain([{ line, text: text.replace(/^#+ /, '') }]), isHeading: true })
    } else if (/^\s*\|/.test(text)) {
      close()
      for (const cell of cellsOf(text)) blocks.push({ ...plain([{ line, text: cell }]), isHeading: false })
    } else if (text.trim() === '') {
      close()
    } else {
      const item = /^\s*(?:[-*+]|\d+[.)])\s+/.exec(text)
      if (item) close()
      open.push({ line, text: text.slice(item?.[0].length ?? 0) })
    }
  }
  close()
  return blocks.filter(({ text }) => text !== '')
}

function withoutComments(markdown: string): string {
  return markdown.replaceAll(/<!--[\s\S]*?-->/g, (comment) => comment.replaceAll(/[^\n]/g, ''))
}

function cellsOf(row: string): readonly string[] {
  if (/^[\s|:-]+$/.test(row)) return []
  return row
    .trim()
    .replace(/^\||(?<!\\)\|$/g, '')
    .split(/(?<!\\)\|/)
}

// Lines are joined before marks are taken away, as a link or a code span may go over two of them.
function plain(lines: readonly { readonly line: number; readonly text: string }[]): Prose {
  const marked = lines.map(({ text }) => text.trim()).join('\n')
  const text = marked
    .replaceAll(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, (span) => `CODE${lineEnds(span)}`)
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<\/?[a-z][^>\n]*>/gi, ' ')
    .replaceAll(/\*\*|__/g, '')
  return proseOf(text.split('\n').map((each, index) => ({ line: lines[index]?.line ?? 0, text: each })))
}

function lineEnds(text: string): string {
  return text.replaceAll(/[^\n]/g, '')
}
