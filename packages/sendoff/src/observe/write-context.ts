import type { CarriedContext } from './context-carrier.ts'
import type { TracedEnd, Tracing, WriteToTrace } from './tracing.ts'

/** The headers of events that are written now, and the span of their write. */
export interface ContextOfWrite extends TracedEnd {
  readonly headers: Readonly<Record<string, string>>
}

/** Captures the context of the code that writes: what carriers carry, and the trace. */
export class WriteContext {
  readonly #carried: CarriedContext | undefined
  readonly #tracing: Tracing | undefined

  constructor(carried: CarriedContext | undefined, tracing: Tracing | undefined) {
    this.#carried = carried
    this.#tracing = tracing
  }

  /** Starts a write. `end` must be called after it. */
  begin(write: WriteToTrace): ContextOfWrite {
    const span = this.#tracing?.write(write)
    const headers: Record<string, string> = { ...span?.headers }
    this.#carried?.captureInto(headers)
    return { headers, end: (error) => span?.end(error) }
  }
}
