import type { Delivery } from '../delivery/delivery.ts'
import type { Pauses } from '../hold/pauses.ts'
import type { HandBack } from '../settle/hand-back.ts'
import type { Waker } from '../wake/waker.ts'
import type { DispatchQueues } from './dispatch-queues.ts'
import type { LaneTurns } from './lane-turns.ts'
import type { Waiters } from './waiters.ts'

/** Options of `UnrunDeliveries`. */
export interface UnrunDeliveriesOptions {
  readonly waker?: Waker
  readonly handBack: HandBack
  readonly lanes: LaneTurns | undefined
  readonly queues: DispatchQueues
  readonly waiters: Waiters
}

/**
 * Hands back deliveries that do not run here after all. Also hands back the deliveries behind them in their
 * lanes.
 */
export class UnrunDeliveries {
  readonly #options: UnrunDeliveriesOptions

  constructor(options: UnrunDeliveriesOptions) {
    this.#options = options
  }

  /** Hands a delivery back, for the poller to find at once. */
  handBack(delivery: Delivery): void {
    void this.#letGo(delivery).then(() => this.#options.waker?.wake())
    this.#options.waiters.changed()
  }

  /**
   * Hands back a delivery of a paused type. The store may have returned the row because another process has
   * resumed the type. So this process first reads the pauses again; otherwise the poller would fetch the row
   * over and over.
   */
  handBackPaused(delivery: Delivery, pauses: Pauses): void {
    void this.#letGo(delivery)
      .then(() => pauses.refresh())
      .then(() => this.#options.waker?.wake())
    this.#options.waiters.changed()
  }

  /** Hands a delivery back without waking the poller, which finds it at its next interval. */
  leaveToPoller(delivery: Delivery): void {
    void this.#letGo(delivery)
    this.#options.waiters.changed()
  }

  /** Hands back all deliveries that wait in the queues. */
  handBackQueued(): Promise<void> {
    return this.#options.handBack.letGo(this.#options.queues.takeAll())
  }

  #letGo(delivery: Delivery): Promise<void> {
    const { handBack, lanes } = this.#options
    const behind = lanes?.giveUp(delivery) ?? []
    return handBack.letGo([delivery, ...behind])
  }
}
