import type { Delivery } from '../delivery/delivery.ts'
import type { DeliveryQueue } from '../delivery/delivery-queue.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { HandBack } from '../settle/hand-back.ts'
import type { IntakeGate } from './intake-gate.ts'
import type { Pump } from './pump.ts'
import type { Suspects } from './suspects.ts'

/** Options of `Intake`. */
export interface IntakeOptions {
  readonly inFlight: InFlightTracker
  readonly gate: IntakeGate
  readonly handBack: HandBack
  readonly suspects: Suspects
  readonly pump: Pump
}

/**
 * `present`: this process holds the row already. `refused`: there was no room, and the row was handed back.
 */
export type Acceptance = 'queued' | 'present' | 'refused'

/** Takes deliveries into the queues, each row only once. */
export class Intake {
  readonly #inFlight: InFlightTracker
  readonly #gate: IntakeGate
  readonly #handBack: HandBack
  readonly #suspects: Suspects
  readonly #pump: Pump

  constructor({ inFlight, gate, handBack, suspects, pump }: IntakeOptions) {
    this.#inFlight = inFlight
    this.#gate = gate
    this.#handBack = handBack
    this.#suspects = suspects
    this.#pump = pump
  }

  accept(delivery: Delivery, queue: DeliveryQueue): Acceptance {
    if (this.#inFlight.keepAwaited(delivery)) return 'present'
    if (!this.#inFlight.tryAcquire(delivery)) {
      this.#alreadyHere(delivery)
      return 'present'
    }
    if (!this.#gate.accepts || !queue.offer(delivery)) {
      void this.#handBack.letGo([delivery])
      return 'refused'
    }
    // The suspect goes first: this process must not hold it while another queued delivery may end the
    // process.
    if (this.#suspects.mustRunAlone(delivery)) void this.#suspects.runAlone(delivery)
    this.#pump.schedule()
    return 'queued'
  }

  /**
   * Gives new leases to deliveries of rows that this process holds. Frees the rows that it does not hold any
   * more.
   */
  carryOn(claimed: readonly Delivery[]): void {
    for (const delivery of claimed) {
      if (this.#inFlight.get(delivery.rowId) !== undefined) this.#alreadyHere(delivery)
      else void this.#handBack.release([delivery])
    }
  }

  // A read without a claim may return a row that this process holds, or has settled meanwhile: there is
  // nothing to do. A claim of such a row has leased it anew. The delivery in this process continues with that
  // lease; if it has ended, the row is released.
  #alreadyHere(delivery: Delivery): void {
    if (delivery.lock !== undefined) return
    const present = this.#inFlight.get(delivery.rowId)!
    if (present.ended) void this.#handBack.release([delivery])
    else present.claimedAgain(delivery.row, delivery.leaseUntil)
    delivery.ended = true
  }
}
