import type { Finding } from './finding.ts'
import type { SourceWords } from './read-source.ts'

/** Comment lines wider than the print width; Prettier leaves them as they are. A link cannot be broken. */
export function findWideComments(
  file: string,
  text: string,
  { commentLines }: SourceWords,
  printWidth: number,
): readonly Finding[] {
  const lines = text.split('\n')
  return commentLines.flatMap((line) => {
    const written = lines[line - 1]!
    if (written.length <= printWidth || /https?:\/\//.test(written)) return []
    return [{ file, line, message: `a comment line of ${written.length} columns; ${printWidth} are allowed` }]
  })
}
