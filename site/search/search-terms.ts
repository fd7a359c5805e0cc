/**
 * Splits a text into words. A name such as `OUTBOX_MODE_CONFLICT` stays whole.
 *
 * The site sends the text of these functions to the reader's browser, so they use nothing outside of themselves.
 */
export function tokenize(text: string): string[] {
  return text.split(/[^\p{L}\p{N}_]+/u)
}

/** Returns the form of a word in the index: its stem, so that "purge" finds "purging". Null leaves it out. */
export function processTerm(word: string): string | null {
  const term = word.toLowerCase()
  if (/^(?:an?|and|in|is|of|or|the|to)$/.test(term)) return null
  return term.length < 5 || term.includes('_') ? term : term.replace(/(?:ings?|ions?|es|s|e)$/, '')
}
