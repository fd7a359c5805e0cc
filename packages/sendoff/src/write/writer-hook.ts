import type { EventEnvelope } from '../event/event-envelope.ts'

type Events = readonly EventEnvelope[]

/**
 * Takes part in every write: `beforeWrite`, insert, `afterWrite`, and after the transaction's
 * end `afterCommit` or `afterRollback`, once per batch. Where the end is not certain, the database is asked first.
 */
export interface WriterHook {
  /** May replace the events; an empty answer, or none, suppresses the write. An error aborts it. */
  beforeWrite?(events: Events): Events | null | undefined | Promise<Events | null | undefined>
  /** Errors of this and the following are logged and go no further; nothing waits for them. */
  afterWrite?(events: Events): unknown
  afterCommit?(events: Events): unknown
  afterRollback?(events: Events): unknown
}

declare const isNone: unique symbol

/** Stands for the hook of an outbox that is given none. No value has this type. */
export interface NoHook {
  readonly [isNone]: never
}

/** The type of a `writerHook` option of which the compiler does not know yet whether it is given. */
export type MaybeHook = WriterHook | NoHook | undefined

/** The id that `write` returns; null where a hook may have suppressed the event. */
export type WrittenId<Hook extends MaybeHook> = NoHook extends Hook
  ? string
  : [Hook] extends [undefined]
    ? string
    : string | null
