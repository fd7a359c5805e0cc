import type { Publisher, Routed } from '../publisher.ts'
import type { PublisherOptions } from '../publishers/publisher-options.ts'

/** One promise of publishers, which any test runner can check on any broker. */
export interface PublisherCheck {
  /** `topic: a sentence`. */
  readonly name: string
  /** The check stops or freezes the broker, so no other test may use it meanwhile. */
  readonly harmsBroker?: true
  run(context: PublisherCheckContext): Promise<void>
}

/** The broker and the publishers that a check runs on. */
export interface PublisherCheckContext {
  /** A topic, queue, subject, stream or URL for this check alone: known to the broker, and empty. */
  readonly destination: string
  /** A destination that the broker does not know. */
  readonly unknownDestination: string
  /** Whether the broker refuses an unknown destination, or creates it when a message comes. */
  readonly unknownDestinations: 'refused' | 'made'
  /**
   * Size of a payload that is too large for the broker, in bytes; undefined if it accepts any that can be
   * stored.
   */
  readonly tooLargeBytes: number | undefined
  /** Whether the publisher waits for a broker that does not reply in time, or the attempt fails. */
  readonly silence: 'waitedFor' | 'failed'
  /** Prefix of CloudEvents attributes in headers, and whether header values are percent-encoded. */
  readonly attributePrefix: string
  readonly encodesHeaders: boolean
  /** Returns a new publisher. The runner of the check closes it. */
  publisher(options: CheckedPublisherOptions): Promise<Publisher>
  /** Returns all messages that the broker has stored for a destination, in its order. */
  stored(destination: string): Promise<readonly StoredMessage[]>
  readonly broker: CheckedBroker
}

/** Options of a publisher in a check. */
export interface CheckedPublisherOptions extends PublisherOptions {
  /** The topic, queue, subject, stream or URL that the publisher sends to. */
  readonly destination: Routed<string>
}

/** A message as the broker has stored it. */
export interface StoredMessage {
  readonly body: Uint8Array
  readonly contentType: string | undefined
  readonly headers: Readonly<Record<string, string>>
}

/** A broker that keeps its address and its acknowledged messages while it is down. */
export interface CheckedBroker {
  /** Kills the broker, as if its machine went down. */
  kill(): Promise<void>
  /** Resolves when the broker replies again. */
  start(): Promise<void>
  /** Stops the broker from replying, while connections stay open. */
  freeze(): void
  resume(): void
}
