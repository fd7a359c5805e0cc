/**
 * The lanes of a dispatcher, as seen by the source that fills them from the store.
 *
 * The dispatcher controls the queue: which deliveries run, when a lane's turn ends, and what is handed back.
 * A source asks which lanes to fill, and reports what the store has for them.
 */
export interface LanesToFill {
  /** How many deliveries the queue holds at most. */
  readonly capacity: number
  /** How many deliveries wait. */
  readonly length: number
  readonly laneCount: number
  /**
   * The known lanes. A key scan skips them: their rows are here, or the source asks for them by their keys.
   */
  readonly keys: Iterable<string>
  /** Whether a lane has run empty and the store may have more rows for it. */
  readonly hasEmptyLanes: boolean

  has(key: string): boolean

  /**
   * Reports that a key scan begins. It skips known lanes, so the source has to ask the store once more for
   * each before the lane ends.
   */
  scanBegins(): void

  /**
   * Returns up to `count` empty lanes to ask the store for. They stay known until they are filled, or
   * `expectMore` reports no rows.
   */
  emptyLanes(count: number): string[]

  /**
   * Reports whether the store may have more rows for a lane. If so, a lane without deliveries counts as
   * empty.
   */
  expectMore(key: string, hasMore: boolean): void
}
