/** One thing that a page asks its reader to do. */
export type PageStep =
  | { readonly kind: 'file'; readonly name: string; readonly text: string }
  | { readonly kind: 'command'; readonly command: string; readonly promised: string | undefined }

interface Block {
  readonly language: string
  readonly text: string
}

/**
 * Reads the steps of a page, in their order. A block whose first line is a comment with a file's name is that
 * file. A block in `sh` is a command, and a block in `text` right after it is the command's output.
 */
export function readSteps(markdown: string): readonly PageStep[] {
  const blocks = readBlocks(markdown)
  return blocks.flatMap(({ language, text }, index): PageStep[] => {
    if (language === 'sh') {
      const next = blocks[index + 1]
      const promised = next?.language === 'text' ? next.text : undefined
      return [{ kind: 'command', command: text, promised }]
    }
    const name = fileNameOf(text)
    return name === undefined ? [] : [{ kind: 'file', name, text }]
  })
}

/** Returns a section of a page, from its heading to the next of its level. */
export function sectionOf(markdown: string, heading: string): string {
  const [, section = ''] = markdown.split(`\n## ${heading}\n`)
  return section.split('\n## ')[0]!
}

/**
 * Returns the file name in the first line of a block, if there is one: `// shop.mjs`, `# compose.yaml`, `--
 * orders.sql`.
 */
export function fileNameOf(text: string): string | undefined {
  return /^(?:\/\/|#|--) ([\w./-]+\.\w+)\n/.exec(text)?.[1]
}

function readBlocks(markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }))
}
