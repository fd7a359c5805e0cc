import type { CarriedContext } from './context-carrier.ts'
import type { RepeatedLines } from './repeated-lines.ts'
import type { TracedEnd, Tracing, WriteToTrace } from './tracing.ts'

/** The headers that the context adds to events that are written now. */
export interface HeadersOfWrite {
  readonly headers: Readonly<Record<string, string>>
  /** Says that an event is written without them. */
  readonly leftOut: () => void
}

/** The headers of events that are written now, and the span of their write. */
export interface ContextOfWrite extends TracedEnd, HeadersOfWrite {}

/** Captures the context of the code that writes: what carriers carry, and the trace. */
export class WriteContext {
  readonly #carried: CarriedContext | undefined
  readonly #tracing: Tracing | undefined
  readonly #lines: RepeatedLines

  constructor(carried: CarriedContext | undefined, tracing: Tracing | undefined, lines: RepeatedLines) {
    this.#carried = carried
    this.#tracing = tracing
    this.#lines = lines
  }

  /** Starts a write. `end` must be called after it. */
  begin(write: WriteToTrace): ContextOfWrite {
    const span = this.#tracing?.write(write)
    const headers: Record<string, string> = { ...span?.headers }
    this.#carried?.captureInto(headers)
    const leftOut = (): void =>
      this.#lines.tell('warn', 'events without their context', () => [
        `An event is written without its context (${Object.keys(headers).join(', ')}): its headers would be too large.`,
        {},
      ])
    return { headers, leftOut, end: (error) => span?.end(error) }
  }
}
