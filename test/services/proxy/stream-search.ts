/** Searches for short texts in a stream of bytes, however it is cut into chunks. Ignores case. */
export class StreamSearch {
  static readonly #longestText = 1_024
  #before = ''
  #last = ''

  add(chunk: Buffer): void {
    this.#before = (this.#before + this.#last).slice(-StreamSearch.#longestText)
    this.#last = chunk.toString('latin1').toLowerCase()
  }

  /** Returns whether the text ends in the last chunk. It may have begun before. */
  hasNow(text: string): boolean {
    const begun = text.length > 1 ? this.#before.slice(1 - text.length) : ''
    return (begun + this.#last).includes(text.toLowerCase())
  }
}
