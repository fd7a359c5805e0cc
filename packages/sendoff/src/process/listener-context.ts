import type { Delivery } from '../delivery/delivery.ts'
import type { BatchContext, DispatchContext } from '../route/event-listener.ts'

/**
 * The context of one delivery. It reads from the delivery, so that it creates only what the listener uses.
 */
export class ListenerContext implements DispatchContext {
  readonly #delivery: Delivery
  readonly #token: number

  constructor(delivery: Delivery) {
    this.#delivery = delivery
    // The process may have claimed the row again since it read it.
    this.#token = delivery.deliveries
  }

  get attempt(): number {
    return this.#delivery.row.attempts + 1
  }

  get signal(): AbortSignal {
    return this.#delivery.signal
  }

  get fencingToken(): number {
    return this.#token
  }

  get epoch(): number | undefined {
    return this.#delivery.epoch
  }

  get destination(): string {
    return this.#delivery.row.destination
  }

  run<Result>(work: () => Result): Result {
    const { within } = this.#delivery
    return within === undefined ? work() : within(work)
  }
}

/** The context of a batch. */
export class ListenerBatchContext implements BatchContext {
  readonly deliveries: readonly DispatchContext[]
  readonly #deliveries: readonly Delivery[]
  #signal: AbortSignal | undefined

  constructor(deliveries: readonly Delivery[]) {
    this.#deliveries = deliveries
    this.deliveries = deliveries.map((delivery) => new ListenerContext(delivery))
  }

  get signal(): AbortSignal {
    return (this.#signal ??= this.#makeSignal())
  }

  #makeSignal(): AbortSignal {
    const aborter = new AbortController()
    for (const delivery of this.#deliveries) delivery.onAbort((reason) => aborter.abort(reason))
    return aborter.signal
  }
}
