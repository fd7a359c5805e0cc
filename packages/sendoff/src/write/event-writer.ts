import type { EventEnvelope } from '../event/event-envelope.ts'
import type { EventFields } from '../event/event-fields.ts'
import type { DefinedEvent, EventToWrite, PlainEventType } from '../event/event-type.ts'
import type { WriteOptions } from './outbox-writer.ts'

/**
 * The part of an `Outbox` that code needs which only writes: every outbox is one, whatever its store and its preset. `Tx` is what
 * `transaction` hands to its callback, and `TxOptions` what it takes beside it, where the code uses that. An outbox with a
 * `writerHook` is an `EventWriter<Tx, TxOptions, string | null>`.
 */
export interface EventWriter<Tx = unknown, TxOptions = never, Id extends string | null = string> {
  /** Runs `work` in one transaction; the events that it writes are part of it. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TxOptions): Promise<Result>

  /** Writes an event that is in its envelope already. Returns its id; null where a `writerHook` suppressed it. */
  write(event: EventEnvelope | EventToWrite, options?: WriteOptions<Tx>): Promise<Id>
  /** Writes an event of a type known by name. The payload is any JSON value, or bytes. */
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

  /** Writes events in one statement. Returns their ids in order, or nothing where a `writerHook` suppressed them. */
  writeAll(events: readonly (EventEnvelope | EventToWrite)[], options?: WriteOptions<Tx>): Promise<string[]>
}
