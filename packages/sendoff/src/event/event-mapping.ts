/** The parts of an event that are different for one destination. Its ordering key always stays. */
export interface EventMapping {
  /** The payload, as any JSON value or as bytes. Default: that of the event. */
  readonly payload?: unknown
  /** All headers. Default: those of the event. */
  readonly headers?: Readonly<Record<string, string>>
  /** The key that a publisher gives the message. Default: the ordering key. */
  readonly messageKey?: string | null
  /**
   * Where the destination puts the event, such as a topic. Listeners and publishers find it in
   * `event.target`.
   */
  readonly target?: string
}
