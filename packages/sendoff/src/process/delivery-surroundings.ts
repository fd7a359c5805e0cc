import type { Delivery } from '../delivery/delivery.ts'
import type { CarriedContext, ContextHeaders } from '../observe/context-carrier.ts'
import type { TracedCall, Tracing } from '../observe/tracing.ts'
import type { Outcome } from '../store/index.ts'

/**
 * Runs listeners in the context that their events were written in: with what carriers carry, and inside a
 * span. Never rejects because of code that users plug in.
 */
export class DeliverySurroundings {
  readonly #carried: CarriedContext | undefined
  readonly #tracing: Tracing | undefined

  constructor(carried: CarriedContext | undefined, tracing: Tracing | undefined) {
    this.#carried = carried
    this.#tracing = tracing
  }

  /** Gives a delivery its span, and the context to process it in, if it has any. */
  enter(delivery: Delivery): void {
    this.#enter(delivery, 1)
  }

  /** Runs the processing of one delivery that has a context. */
  around(delivery: Delivery, run: () => Promise<Outcome>): Promise<Outcome> {
    const { trace, within } = delivery
    const processing = within === undefined ? run() : within(run)
    if (trace !== undefined) void processing.then((outcome) => endTrace(trace, outcome))
    return processing
  }

  /**
   * Runs the processing of a batch. Around the call of its listener are the values that all its events carry.
   * Each delivery has its own context, for code that treats its event alone.
   */
  aroundBatch(
    deliveries: readonly Delivery[],
    run: () => Promise<readonly Outcome[]>,
  ): Promise<readonly Outcome[]> {
    const carried = this.#carried
    const headers: ContextHeaders[] = []
    let hasTrace = false
    for (const delivery of deliveries) {
      const ofDelivery = this.#enter(delivery, deliveries.length)
      if (carried !== undefined) headers.push(ofDelivery)
      if (delivery.trace !== undefined) hasTrace = true
    }
    const processing = carried === undefined ? run() : carried.around(carried.common(headers), run)
    if (hasTrace) {
      void processing.then((outcomes) =>
        deliveries.forEach(({ trace }, index) => trace && endTrace(trace, outcomes[index]!)),
      )
    }
    return processing
  }

  /** Starts the span of a delivery. Returns the headers of the event, if values are carried in them. */
  #enter(delivery: Delivery, batchSize: number): ContextHeaders {
    const { row } = delivery
    if (row.headers === null) return noHeaders
    const carried = this.#carried
    const headers = carried === undefined ? noHeaders : parsed(row.headers)
    const trace = this.#tracing?.deliver({
      eventId: row.eventId,
      eventType: row.eventType,
      destination: row.destination,
      attempt: row.attempts + 1,
      headers: row.headers,
      batchSize,
    })
    if (trace !== undefined) delivery.trace = trace
    if (trace !== undefined || carried !== undefined) {
      delivery.within = (work) => {
        const inContext = carried === undefined ? work : () => carried.around(headers, work)
        return trace === undefined ? inContext() : trace.run(inContext)
      }
    }
    return headers
  }
}

const noHeaders: ContextHeaders = {}

// A row whose headers cannot be read becomes DEAD later, with a reason.
function parsed(headers: string): ContextHeaders {
  try {
    return (JSON.parse(headers) ?? noHeaders) as ContextHeaders
  } catch {
    return noHeaders
  }
}

function endTrace(trace: TracedCall, outcome: Outcome): void {
  const error =
    'failure' in outcome ? outcome.failure?.error : 'reason' in outcome ? outcome.reason : undefined
  trace.end(outcome.kind, outcome.kind === 'defer' ? undefined : error)
}
