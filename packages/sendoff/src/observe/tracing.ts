/** Makes spans of what an outbox does. `openTelemetryTracing` of `sendoff/opentelemetry` makes one. */
export interface Tracing {
  /** Starts the span of a write. Returns the headers that carry its context with the events. */
  write(write: WriteToTrace): TracedWrite | undefined
  /** Starts the span of a delivery; undefined if the writer's trace is not recorded. */
  deliver(delivery: DeliveryToTrace): TracedCall | undefined
  /**
   * Starts the span of a message in an inbox; undefined if neither the sender's trace is recorded nor a span
   * is active. An outbox does without this method.
   */
  process?(message: MessageToTrace): TracedCall | undefined
  /** Starts the span of a batch of settlements, of which some deliveries are traced. */
  settle(traced: readonly TracedCall[], count: number): TracedEnd | undefined
  /** Starts the span of a poll that has found rows. It began at `startedAt`, in epoch milliseconds. */
  tick(startedAt: number): TracedTick | undefined
}

/** The events of one write. */
export interface WriteToTrace {
  /** The type of the first event. */
  readonly eventType: string
  readonly eventId: string
  readonly count: number
}

/** A delivery that may be traced. */
export interface DeliveryToTrace {
  readonly eventId: string
  readonly eventType: string
  readonly destination: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** The headers of the event as JSON text; null without any. */
  readonly headers: string | null
  /** How many events the listener gets in this call. */
  readonly batchSize: number
}

/** A message that may be traced. */
export interface MessageToTrace {
  /** Whether the inbox runs a handler for it, or makes it an event. */
  readonly operation: 'process' | 'accept'
  readonly messageId: string
  /** The type that the sender gave it. */
  readonly messageType: string | undefined
  /** The name of the consumer that processes it. */
  readonly consumer: string
  /** The headers of the message, which carry the sender's trace; their names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** The end of a span. */
export interface TracedEnd {
  end(error?: unknown): void
}

/** The span of a write. */
export interface TracedWrite extends TracedEnd {
  readonly headers: Readonly<Record<string, string>>
}

/** The span of a delivery, or of a message in an inbox. */
export interface TracedCall {
  /** Runs code inside the span. */
  run<Result>(work: () => Result): Result
  /** Ends the span with the outcome, and with the text of its error. */
  end(outcome: string, error?: string): void
}

/** The span of a poll that found rows. */
export interface TracedTick {
  /** Adds the span of a fetch that ended just now. */
  claim(startedAt: number, rows: number): void
  end(rows: number, error?: unknown): void
}
