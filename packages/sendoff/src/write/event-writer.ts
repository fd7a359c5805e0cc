import type { EventEnvelope } from '../event/event-envelope.ts'
import type { EventFields } from '../event/event-fields.ts'
import type { DefinedEvent, EventToWrite, PlainEventType } from '../event/event-type.ts'
import type { WriteOptions } from './outbox-writer.ts'

/**
 * The writing part of an `Outbox`, for code that only writes. Every outbox is one, whatever its store and
 * mode. `Tx` is what `transaction` passes to its callback, and `TxOptions` are its options, if the code uses
 * them. An outbox with a `writerHook` is an `EventWriter<Tx, TxOptions, string | null>`.
 */
export interface EventWriter<Tx = unknown, TxOptions = never, Id extends string | null = string> {
  /** Runs `work` in one transaction. The events that it writes are part of the transaction. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TxOptions): Promise<Result>

  /**
   * Writes an event that is in its envelope already. Returns its id, or null if a `writerHook` suppressed it.
   */
  write(event: EventEnvelope | EventToWrite, options?: WriteOptions<Tx>): Promise<Id>
  /** Writes an event of a type given by name. The payload is any JSON value, or bytes. */
  write(
    type: string | PlainEventType,
    payload: unknown,
    options?: EventFields & WriteOptions<Tx>,
  ): Promise<Id>
  /** Writes a defined event. */
  write<Input, Output>(
    type: DefinedEvent<Input, Output>,
    payload: Input,
    options?: EventFields & WriteOptions<Tx>,
  ): Promise<Id>

  /**
   * Writes events in one statement. Returns their ids in order, or an empty list if a `writerHook` suppressed
   * them.
   */
  writeAll(events: readonly (EventEnvelope | EventToWrite)[], options?: WriteOptions<Tx>): Promise<string[]>
}
