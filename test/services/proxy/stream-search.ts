/** Looks for short texts in a stream of bytes, whichever way it is cut into chunks. Ignores case. */
export class StreamSearch {
  static readonly #longestText = 1_024
  #before = ''
  #last = ''

  add(chunk: Buffer): void {
    this.#before = (this.#before + this.#last).slice(-StreamSearch.#longestText)
    this.#last = chunk.toString('latin1').toLowerCase()
  }

  /** Whether the text is there as of the last chunk: it ends in that one, and may have begun before. */
  hasNow(text: string): boolean {
    const begun = text.length > 1 ? this.#before.slice(1 - text.length) : ''
    return (begun + this.#last).includes(text.toLowerCase())
  }
}
