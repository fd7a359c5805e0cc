import type { Publisher, Routed } from '../publisher.ts'
import type { PublisherOptions } from '../publishers/publisher-options.ts'

/** One promise of publishers, checked on any broker by any test runner. */
export interface PublisherCheck {
  /** `topic: a sentence`. */
  readonly name: string
  /** Brings the broker down or to a halt, so that nobody else may use it meanwhile. */
  readonly harmsBroker?: true
  run(context: PublisherCheckContext): Promise<void>
}

/** The broker, the publisher and the destination that a check runs on. */
export interface PublisherCheckContext {
  /** A topic, queue, subject, stream or URL of this check's own: known to the broker, and empty. */
  readonly destination: string
  /** One that the broker does not know. */
  readonly unknownDestination: string
  /** What the broker does with an unknown destination: refuses it, or makes it when a message comes. */
  readonly unknownDestinations: 'refused' | 'made'
  /** A payload of so many bytes is larger than the broker takes; undefined where it takes any that can be stored. */
  readonly tooLargeBytes: number | undefined
  /** What a broker that does not answer in time means: it is waited for, or the attempt has failed. */
  readonly silence: 'waitedFor' | 'failed'
  /** The prefix of CloudEvents attributes in headers, and whether header values are percent-encoded. */
  readonly attributePrefix: string
  readonly encodesHeaders: boolean
  /** A new publisher. Closed by whoever runs the check. */
  publisher(options: CheckedPublisherOptions): Promise<Publisher>
  /** All that the broker has kept for a destination, in its order. */
  stored(destination: string): Promise<readonly StoredMessage[]>
  readonly broker: CheckedBroker
}

/** Options of a publisher under check. */
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

/** A broker that keeps its address and what it has acknowledged while it is down. */
export interface CheckedBroker {
  /** As when its machine goes down. */
  kill(): Promise<void>
  /** Resolves when it answers again. */
  start(): Promise<void>
  /** Stops answering, connections staying open. */
  freeze(): void
  resume(): void
}
