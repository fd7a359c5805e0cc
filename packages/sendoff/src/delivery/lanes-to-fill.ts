/**
 * The lanes of a dispatcher, as a source sees them that fills them from the store.
 *
 * The dispatcher commands the queue: what runs, when a lane's turn ends, and what is handed back. A source asks which lanes to
 * fill, and reports what the store has for them.
 */
export interface LanesToFill {
  /** How many deliveries the queue holds at most. */
  readonly capacity: number
  /** How many deliveries wait. */
  readonly length: number
  readonly laneCount: number
  /** The lanes that are known. A key scan skips them: their rows are here, or asked for by their keys. */
  readonly keys: Iterable<string>
  /** Whether a lane has run empty and the store may have more rows for it. */
  readonly hasEmptyLanes: boolean

  has(key: string): boolean

  /** A key scan begins. It skips known lanes, so that the source has to ask the store for each of these once more before it is over. */
  scanBegins(): void

  /** Up to `count` empty lanes, to ask the store for. They stay known until they are filled, or `expectMore` says that nothing comes. */
  emptyLanes(count: number): string[]

  /** Reports whether the store may have more rows for a lane. A lane without deliveries is then an empty one. */
  expectMore(key: string, hasMore: boolean): void
}
