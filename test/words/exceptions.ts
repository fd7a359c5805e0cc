import type { WordException } from './word-rule.ts'

/** The hiding words that stay, by file and word. */
export const wordExceptions: readonly WordException[] = [
  {
    file: 'CONTRIBUTING.md',
    word: 'whoever',
    reason: 'The table of "How we write" quotes sentences from before the rule.',
  },
  {
    file: 'CONTRIBUTING.md',
    word: 'somebody',
    reason: 'The table of "How we write" quotes sentences from before the rule.',
  },
]
