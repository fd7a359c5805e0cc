/** The parts of a token of markdown-it that are used here. */
interface Token {
  readonly type: string
  readonly content: string
  attrSet(name: string, value: string): void
}

interface MarkdownIt {
  readonly core: { readonly ruler: { push(name: string, rule: (state: { tokens: Token[] }) => void): void } }
}

/**
 * Gives each cell of a table the heading of its column as `data-label`. A phone shows a row as a block, where no
 * column says what a cell is about.
 */
export function tableLabels(markdown: MarkdownIt): void {
  markdown.core.ruler.push('table-labels', ({ tokens }) => {
    let headings: string[] = []
    let column = 0
    for (const [index, token] of tokens.entries()) {
      if (token.type === 'table_open') headings = []
      if (token.type === 'tr_open') column = 0
      if (token.type === 'th_open') headings.push(plain(tokens[index + 1]?.content ?? ''))
      if (token.type === 'td_open') token.attrSet('data-label', headings[column++] ?? '')
    }
  })
}

function plain(markdown: string): string {
  return markdown.replaceAll(/[`*]/g, '')
}
