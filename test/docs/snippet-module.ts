import { shownFile } from './shown-files.ts'

/** The code of one page as one TypeScript module. */
export interface SnippetModule {
  /** The page's path in the project, with forward slashes. */
  readonly page: string
  /**
   * The page with everything but its code blanked, so that lines and columns of the module are those of the
   * page. Undefined if the page has no code.
   */
  readonly code: string | undefined
  /** Faults of the page itself, as `page:line problem`. */
  readonly mistakes: readonly string[]
}

/** Blocks in these languages are shown, and not run here. */
const shownOnly = new Set(['json', 'prisma', 'properties', 'sh', 'sql', 'text'])

/** A `js` block is a file, named by its first line. The test that follows the page word by word runs it. */
const namedFile = /^\/\/ [\w./-]+\.mjs$/

/**
 * A `ts` block that names itself is a whole program, which that test runs, too. Later blocks use what it has
 * opened, so the page's module leaves out its end.
 */
const program = /^\/\/ [\w./-]+\.ts$/
const programEnds = /^await outbox\.close\(\)$/

const fence = /^ *(`{3,}|~{3,}) *(.*?) *$/
const hiddenBegins = /^ *<!-- snippet:/
const hiddenEnds = /-->\s*$/

/**
 * Joins the `ts` blocks of a page, in their order, with the code that is hidden in comments of the form `<!--
 * snippet: … -->` between them. Every other block has to name a language that is not run: an example that no
 * test runs is wrong sooner or later. A block after `<!-- file: … -->` shows a file that has a test of its own.
 */
export function snippetModule(page: string, markdown: string): SnippetModule {
  const mistakes: string[] = []
  const lines: string[] = []
  let place: Place = { kind: 'text' }
  let hasCode = false

  const all = markdown.split('\n')
  for (const [index, line] of all.entries()) {
    const keep = (text: string) => {
      hasCode ||= text.trim() !== ''
      lines[index] = text
    }
    const complain = (problem: string) => mistakes.push(`${page}:${index + 1} ${problem}`)
    lines[index] = ''

    if (place.kind === 'text') {
      const opening = fence.exec(line)
      if (opening !== null) {
        const [, marks = '', language = ''] = opening
        const isShown = shownFile(all[index - 2] ?? '') !== undefined
        const isFile = isShown || (language === 'js' && namedFile.test(all[index + 1] ?? ''))
        if (language !== 'ts' && !isFile && !shownOnly.has(language)) complain(unknownLanguage(language))
        place = { kind: 'block', since: index + 1, marks, isCode: language === 'ts' && !isShown }
      } else if (hiddenBegins.test(line)) {
        const code = blanked(line, hiddenBegins)
        keep(blanked(code, hiddenEnds))
        if (!hiddenEnds.test(code)) place = { kind: 'hidden', since: index + 1 }
      }
    } else if (place.kind === 'block') {
      if (closes(line, place.marks)) place = { kind: 'text' }
      else if (program.test(all[place.since] ?? '') && programEnds.test(line)) place.isCode = false
      else if (place.isCode) keep(line)
    } else {
      keep(blanked(line, hiddenEnds))
      if (hiddenEnds.test(line)) place = { kind: 'text' }
    }
  }

  if (place.kind !== 'text') mistakes.push(`${page}:${place.since} is never closed`)
  return { page, code: hasCode ? lines.join('\n') : undefined, mistakes }
}

type Place =
  | { readonly kind: 'text' }
  | { readonly kind: 'block'; readonly since: number; readonly marks: string; isCode: boolean }
  | { readonly kind: 'hidden'; readonly since: number }

function closes(line: string, marks: string): boolean {
  const closing = fence.exec(line)
  return closing !== null && closing[2] === '' && closing[1]!.startsWith(marks)
}

function blanked(line: string, pattern: RegExp): string {
  return line.replace(pattern, (found) => ' '.repeat(found.length))
}

function unknownLanguage(language: string): string {
  const known = [...shownOnly].join(', ')
  return `has a block in ${language === '' ? 'no language' : `"${language}"`}: code is "ts", and what is not run is one of ${known}`
}
