import type { EventEnvelope } from '../event/event-envelope.ts'

type Events = readonly EventEnvelope[]

/**
 * Takes part in every write: `beforeWrite`, insert, `afterWrite`. After the transaction's end comes
 * `afterCommit` or `afterRollback`, once per batch. If the end is not certain, the outbox asks the database
 * first.
 */
export interface WriterHook {
  /**
   * Returns the events to write, which may differ from those passed in. An empty list, or nothing, suppresses
   * the write. An error aborts it.
   */
  beforeWrite?(events: Events): Events | null | undefined | Promise<Events | null | undefined>
  /**
   * Called after the insert. Errors of this method and the next two are only logged, and no code waits for
   * them.
   */
  afterWrite?(events: Events): unknown
  afterCommit?(events: Events): unknown
  afterRollback?(events: Events): unknown
}

declare const isNone: unique symbol

/** The type of the hook of an outbox without one. No value has this type. */
export interface NoHook {
  readonly [isNone]: never
}

/** The type of a `writerHook` option while the compiler does not know yet whether it is given. */
export type MaybeHook = WriterHook | NoHook | undefined

/** The type of the id that `write` returns: null is included if a hook may suppress the event. */
export type WrittenId<Hook extends MaybeHook> = NoHook extends Hook
  ? string
  : [Hook] extends [undefined]
    ? string
    : string | null
