/**
 * Weighs a page in search. Guides come first: the reference of the API, recipes and the pages of ORMs repeat their
 * words, and the pages about the project are for its contributors. An error code leads to the list of errors.
 *
 * The site sends the text of this function to the reader's browser, so it uses nothing outside of itself.
 */
export function boostDocument(id: string, term: string): number {
  if (term.startsWith('outbox_') && /\/errors\b/.test(id)) return 4
  if (/\/(?:decisions|architecture|changelog|contributing|readme|contents)\b/.test(id)) return 0.3
  if (/\/(?:orms\/|moving-in|parts|stores|call-options|memory)/.test(id)) return 0.5
  if (id.includes('/recipes/')) return 0.75
  return id.includes('/api/') ? 0.4 : 1
}
