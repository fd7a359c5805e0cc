import type { Finding } from './finding.ts'
import { excerptAt, lineAt, type Prose } from './prose.ts'

/** Words that hide who acts. Write the actor instead: worker, writer, owner, store, operator. */
export const hidingWords: Readonly<Record<string, RegExp>> = {
  nobody: /\bnobody\b/gi,
  somebody: /\bsomebody\b/gi,
  anybody: /\banybody\b/gi,
  everybody: /\beverybody\b/gi,
  'no one': /\bno(?: |-)one\b/gi,
  someone: /\bsomeone\b/gi,
  anyone: /\banyone\b/gi,
  everyone: /\beveryone\b/gi,
  whoever: /\bwho(?:so)?ever\b/gi,
  whom: /\bwhom\b/gi,
  whomever: /\bwhom(?:so)?ever\b/gi,
  'in hand': /\bin hand\b/gi,
  'in its hands': /\bin (?:(?:an?|the) )?(?:its|his|her|their|our|your|my|one's|\w+'s) hands?\b/gi,
  'goes on with': /\b(?:go|goes|going|gone|went) on with\b/gi,
}

/** A word that a file may use, and why. */
export interface WordException {
  readonly file: string
  readonly word: string
  readonly reason: string
}

/** The hiding words in the prose of a file. */
export function findHidingWords(file: string, prose: readonly Prose[]): readonly Finding[] {
  return prose.flatMap((each) =>
    Object.entries(hidingWords).flatMap(([word, pattern]) =>
      [...each.text.matchAll(pattern)].map(({ index }) => ({
        file,
        line: lineAt(each, index),
        word,
        message: `"${word}" hides the actor: ${excerptAt(each, index)}`,
      })),
    ),
  )
}

/** Whether a file can have a hiding word at all; a phrase may go over two lines of a comment. */
export function mayHideActor(text: string): boolean {
  return anyHidingWord.test(text)
}

const anyHidingWord = new RegExp(
  Object.values(hidingWords)
    .map(({ source }) => source.replaceAll(' ', String.raw`[\s*/]+`))
    .join('|'),
  'i',
)

/** The findings that no exception allows, and the exceptions that allow nothing any more. */
export function withoutExceptions(
  findings: readonly Finding[],
  exceptions: readonly WordException[],
): readonly Finding[] {
  const allows = (exception: WordException, { file, word }: Finding) =>
    exception.file === file && exception.word === word
  const unused = exceptions.filter((each) => !findings.some((finding) => allows(each, finding)))
  return [
    ...findings.filter((finding) => !exceptions.some((each) => allows(each, finding))),
    ...unused.map(({ file, word }) => ({
      file,
      line: 0,
      message: `no longer has "${word}": take it from test/words/exceptions.ts`,
    })),
  ]
}
