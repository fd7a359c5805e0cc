/** Running text from comments, pages or string literals, that knows its lines. */
export interface Prose {
  /** The text with all white space as single blanks. */
  readonly text: string
  /** The line in the file of each line of the text, with the offset at which it begins. */
  readonly starts: readonly LineStart[]
}

interface LineStart {
  readonly offset: number
  readonly line: number
}

/** Joins lines to running text, so that a phrase is found although a line ends within it. */
export function proseOf(lines: readonly { readonly line: number; readonly text: string }[]): Prose {
  const starts: LineStart[] = []
  let text = ''
  for (const each of lines) {
    const words = each.text.trim().replaceAll(/\s+/g, ' ')
    if (words === '') continue
    if (text !== '') text += ' '
    starts.push({ offset: text.length, line: each.line })
    text += words
  }
  return { text, starts }
}

/** The line in the file of what stands at `offset` in the text. */
export function lineAt({ starts }: Prose, offset: number): number {
  return starts.findLast((start) => start.offset <= offset)?.line ?? 0
}

/** The text around an offset, for a reader who searches for it. */
export function excerptAt({ text }: Prose, offset: number): string {
  const from = Math.max(0, offset - 40)
  const to = Math.min(text.length, offset + 50)
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
}
