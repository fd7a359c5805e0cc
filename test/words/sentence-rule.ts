import type { Finding } from './finding.ts'
import { lineAt } from './prose.ts'
import type { PageBlock } from './read-page.ts'

/** A sentence with more words is long. */
export const longFrom = 30

/** The part of a page's sentences that may be long. */
export const longShare = 1 / 10

/** Fewer words are a label, as in the cells of a table: they would hide the long sentences of a page. */
const fewestWords = 4

/** A sentence of a page, and how many words it has. */
export interface Sentence {
  readonly line: number
  readonly text: string
  readonly words: number
}

/** The sentences of a page. Headings and labels are none; a code span is one word. */
export function sentencesOf(blocks: readonly PageBlock[]): readonly Sentence[] {
  return blocks
    .filter(({ isHeading }) => !isHeading)
    .flatMap((block) =>
      [...block.text.matchAll(/\S.*?(?:[.!?]["'”’)\]*_]*(?=\s+["'“‘([*_]*[\p{Lu}\d])|$)/gu)].map(
        ({ 0: text, index }) => ({ line: lineAt(block, index), text, words: countWords(text) }),
      ),
    )
    .filter(({ words }) => words >= fewestWords)
}

/** Every long sentence of a page that has too many of them; none of a page that has few. */
export function findLongSentences(file: string, blocks: readonly PageBlock[]): readonly Finding[] {
  const sentences = sentencesOf(blocks)
  const long = sentences.filter(({ words }) => words > longFrom)
  if (long.length <= sentences.length * longShare) return []

  const share = `${long.length} of ${sentences.length} sentences are long`
  return long.map(({ line, text, words }) => ({
    file,
    line,
    message: `a sentence of ${words} words (${share}): ${text.slice(0, 80)}…`,
  }))
}

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}
