import type { Delivery } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { CircuitBreaker } from '../process/circuit-breaker.ts'
import type { ProcessingChain } from '../process/processing-chain.ts'
import type { HandBack } from '../settle/hand-back.ts'
import type { KnownResults } from '../settle/known-results.ts'
import type { Outcome, Settlement } from '../store/index.ts'
import type { DeliveryReports } from './delivery-reports.ts'
import type { OutboxDispatcherOptions } from './dispatcher-options.ts'
import type { LaneTurns } from './lane-turns.ts'
import type { Pump } from './pump.ts'
import type { Suspects } from './suspects.ts'
import type { UnrunDeliveries } from './unrun-deliveries.ts'

/** Options of `SettledDeliveries`. */
export interface SettledDeliveriesOptions extends Pick<
  OutboxDispatcherOptions,
  'waker' | 'onRefusedUnderLock' | 'breaksCold'
> {
  readonly inFlight: InFlightTracker
  readonly lanes: LaneTurns | undefined
  readonly suspects: Suspects
  readonly pump: Pump
  readonly unrun: UnrunDeliveries
  readonly handBack: HandBack
  readonly knownResults: KnownResults
  readonly reports: DeliveryReports
  readonly chain: ProcessingChain
  readonly breaker?: CircuitBreaker
}

/** Ends deliveries that the store has settled, or refused to settle, and makes room for the next ones. */
export class SettledDeliveries {
  readonly #options: SettledDeliveriesOptions
  readonly #inFlight: InFlightTracker
  readonly #lanes: LaneTurns | undefined
  readonly #suspects: Suspects
  readonly #pump: Pump
  readonly #reports: DeliveryReports
  readonly #breaker: CircuitBreaker | undefined

  constructor(options: SettledDeliveriesOptions) {
    this.#options = options
    this.#inFlight = options.inFlight
    this.#lanes = options.lanes
    this.#suspects = options.suspects
    this.#pump = options.pump
    this.#reports = options.reports
    this.#breaker = options.breaker
  }

  settled(delivery: Delivery, { row, outcome }: Settlement, refused: boolean, decided: Outcome): void {
    this.#inFlight.release(delivery)
    delivery.hasSucceeded = !refused && (outcome.kind === 'done' || outcome.kind === 'delete')
    if (delivery.source === 'hot' && this.#options.breaksCold !== true)
      this.#breaker?.ended(delivery.hasSucceeded)
    if (this.#lanes !== undefined) this.#letGo(this.#lanes.settled(delivery, outcome, refused))
    // This process claimed the row again before the store acknowledged the settlement. That claim has no
    // delivery.
    if (delivery.deliveries !== row.deliveries) this.#options.unrun.handBack(delivery)
    this.#suspects.settled(delivery)
    this.#pump.schedule()
    if (refused) return this.#refused(delivery, outcome)

    this.#reports.settled(delivery, outcome.kind === 'retry' ? decided : outcome)
    if ('delayMs' in outcome && !('quiet' in outcome))
      this.#comesBack(delivery, outcome, stepMsAfter(decided))
  }

  #letGo(behind: readonly Delivery[]): void {
    if (behind.length === 0) return
    void this.#options.handBack.letGo(behind)
    this.#options.waker?.resume()
  }

  #refused(delivery: Delivery, outcome: Outcome): void {
    const { knownResults, onRefusedUnderLock, waker } = this.#options
    knownResults.add(delivery, outcome)
    if (delivery.lock !== undefined) onRefusedUnderLock?.()
    waker?.wake()
    this.#reports.refused(delivery)
  }

  // A worker without a listener must not be the first to find the event again: another worker may have the
  // listener.
  #comesBack(
    delivery: Delivery,
    { kind, delayMs }: Outcome & { readonly delayMs: number },
    stepMs: number | undefined,
  ): void {
    const { chain, waker } = this.#options
    if (kind === 'defer' && chain.routeOf(delivery) === undefined) this.#reports.unroutable(delivery)
    else waker?.wake(delayMs, undefined, stepMs)
  }
}

/**
 * How long the steps are in which the poller reads retries: a destination that fails every event then causes
 * few polls, however many events it has. Undefined for the usual steps.
 */
function stepMsAfter(decided: Outcome): number | undefined {
  if (decided.kind !== 'retry' || decided.delayMs < 100) return undefined
  return decided.delayMs < 1_000 ? 50 : 100
}
