/** The parts of an event that are different for one destination. Its ordering key always stays. */
export interface EventMapping {
  /**
   * The payload, as any JSON value or as bytes. A listener of a defined event gets the output of its schema,
   * so that this is the schema's input. Default: that of the event.
   */
  readonly payload?: unknown
  /** Headers to add to those of the event, or to replace. `undefined` removes one. Default: none. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** The key that a publisher gives the message. Default: the ordering key. */
  readonly messageKey?: string | null
  /**
   * Where the destination puts the event, such as a topic. Listeners and publishers find it in
   * `event.target`.
   */
  readonly target?: string
}
