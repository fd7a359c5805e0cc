import type { Delivery } from '../delivery/delivery.ts'
import type { DeliveryQueue } from '../delivery/delivery-queue.ts'
import type { DeliverySurroundings } from '../process/delivery-surroundings.ts'
import type { ProcessingChain } from '../process/processing-chain.ts'
import { isBatchListener, type Route } from '../route/listener-registry.ts'
import type { KnownResults } from '../settle/known-results.ts'
import type { DispatchQueues } from './dispatch-queues.ts'
import type { ListenerCalls } from './listener-calls.ts'

/** How many events a batch has at most, unless the registration of its listener says otherwise. */
const defaultMaxBatchSize = 100

/** Options of `ListenerStarts`. */
export interface ListenerStartsOptions {
  readonly chain: ProcessingChain
  readonly calls: ListenerCalls
  readonly knownResults: KnownResults
  readonly queues: DispatchQueues
  readonly surroundings?: DeliverySurroundings | undefined
}

/** Takes the next delivery that can join the batch of `after`. */
export interface BatchFiller {
  take(queue: DeliveryQueue, after: Delivery): Delivery | undefined
}

/** Starts listeners, each for one event or for a batch. */
export class ListenerStarts {
  readonly #chain: ProcessingChain
  readonly #calls: ListenerCalls
  readonly #knownResults: KnownResults
  readonly #queues: DispatchQueues
  readonly #surroundings: DeliverySurroundings | undefined

  constructor({ chain, calls, knownResults, queues, surroundings }: ListenerStartsOptions) {
    this.#chain = chain
    this.#calls = calls
    this.#knownResults = knownResults
    this.#queues = queues
    this.#surroundings = surroundings
  }

  /** Starts the listener of a delivery, or uses the result that the listener had for the same row before. */
  start(delivery: Delivery, filler: BatchFiller): void {
    const known = this.#knownResults.take(delivery)
    if (known !== undefined) return this.#calls.start([delivery], Promise.resolve(known))

    const route = this.#chain.routeOf(delivery)
    if (route !== undefined && isBatchListener(route.listener)) {
      return this.#startBatch(delivery, route, filler)
    }
    const surroundings = this.#surroundings
    surroundings?.enter(delivery)
    const processing =
      surroundings === undefined || delivery.within === undefined
        ? this.#chain.process(delivery, route)
        : surroundings.around(delivery, () => this.#chain.process(delivery, route))
    this.#calls.start([delivery], processing, route?.options.timeoutMs)
  }

  // A batch is the run of deliveries for the same listener at the front of the queue. It does not wait for
  // more.
  #startBatch(first: Delivery, route: Route, filler: BatchFiller): void {
    const { maxBatchSize = defaultMaxBatchSize, timeoutMs } = route.options
    const queue = this.#queues.of(first)
    const batch = [first]
    let last = first
    while (batch.length < maxBatchSize && this.#canJoin(queue.peek(last), route)) {
      const next = filler.take(queue, last)
      if (next === undefined) break
      batch.push(next)
      last = next
    }
    const process = () => this.#chain.processBatch(batch, route)
    const processing = this.#surroundings?.aroundBatch(batch, process) ?? process()
    this.#calls.start(batch, processing, timeoutMs, maxBatchSize)
  }

  #canJoin(next: Delivery | undefined, { listener }: Route): boolean {
    if (next === undefined || this.#chain.routeOf(next)?.listener !== listener) return false
    return !this.#knownResults.has(next)
  }
}
