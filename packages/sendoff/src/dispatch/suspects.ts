import type { Clock } from '../clock.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'
import type { ProcessingChain } from '../process/processing-chain.ts'
import type { HandBack } from '../settle/hand-back.ts'
import type { Settler } from '../settle/settler.ts'
import type { OutboxDispatcherOptions } from './dispatcher-options.ts'
import type { DispatchQueues } from './dispatch-queues.ts'
import type { IntakeGate } from './intake-gate.ts'
import type { ListenerCalls } from './listener-calls.ts'
import type { Pump } from './pump.ts'
import type { Waiters } from './waiters.ts'

/** Options of `Suspects`. */
export interface SuspectsOptions extends Pick<
  OutboxDispatcherOptions,
  'waker' | 'claimAgain' | 'recordHeld'
> {
  readonly chain: ProcessingChain
  readonly queues: DispatchQueues
  readonly gate: IntakeGate
  readonly inFlight: InFlightTracker
  readonly handBack: HandBack
  readonly calls: ListenerCalls
  readonly settler: Settler
  readonly pump: Pump
  readonly waiters: Waiters
  readonly clock: Clock
  readonly logger: Logger
  /** Stops the other dispatchers of the process. Resolves to the function that lets them continue. */
  readonly stopOthers: (() => Promise<() => void>) | undefined
}

/**
 * Runs each suspect alone. A suspect is an event that may have ended the processes that held it.
 *
 * The process first hands back all queued events. If the suspect ends this process again, it is the only row
 * left behind, and its neighbours count no loss.
 */
export class Suspects {
  readonly #options: SuspectsOptions
  #letOthersContinue: (() => void) | undefined

  constructor(options: SuspectsOptions) {
    this.#options = options
  }

  /** Whether a delivery is a suspect that still gets an attempt. */
  mustRunAlone(delivery: Delivery): boolean {
    return delivery.isSuspect && !this.#options.chain.givesUp(delivery)
  }

  /**
   * Hands the suspect back too, and claims it again when nothing else runs. If another event ends the process
   * meanwhile, no loss is counted for the suspect. Never rejects.
   */
  async runAlone(suspect: Delivery): Promise<void> {
    const { gate, inFlight, logger, pump, clock, handBack } = this.#options
    const { eventId, eventType, losses } = suspect.row
    gate.suspect = suspect
    logger.warn(
      `${losses} processes in a row ended while they held event ${eventId} (${eventType}): it runs alone now.`,
    )
    const claimed = await this.#claimAlone(suspect)
    // This process may have stood still since it asked for the lease.
    const isHeld = claimed?.isHeld(clock.monotonic()) ?? false
    if (claimed !== undefined && isHeld && inFlight.tryAcquire(claimed)) {
      gate.suspect = claimed
      pump.start(claimed)
      return
    }
    if (claimed !== undefined && !isHeld) await handBack.release([claimed])
    this.#ended()
  }

  /** Called with every settled delivery. After a suspect, the dispatcher takes events again. */
  settled(delivery: Delivery): void {
    if (delivery === this.#options.gate.suspect) this.#ended()
  }

  async #claimAlone(suspect: Delivery): Promise<Delivery | undefined> {
    const { gate, claimAgain, logger } = this.#options
    try {
      await this.#clearTheWay(suspect)
      return gate.isOpen ? await claimAgain?.(suspect) : undefined
    } catch (error) {
      logger.error(`Clearing the way for event ${suspect.row.eventId} failed. ${describeError(error)}`)
      return undefined
    }
  }

  async #clearTheWay(suspect: Delivery): Promise<void> {
    const { handBack, inFlight, queues, recordHeld, waiters, calls, settler } = this.#options
    await handBack.letGo([...new Set([suspect, ...queues.takeAll()])])
    // A poll that began before may still claim rows. They are handed back as well.
    await inFlight.untilNoPoll()
    await handBack.idle()
    await recordHeld?.()
    await waiters.until(() => calls.size === 0)
    await settler.drained()
    this.#letOthersContinue = await this.#options.stopOthers?.()
  }

  #ended(): void {
    const { gate, waker, waiters } = this.#options
    gate.suspect = undefined
    this.#letOthersContinue?.()
    this.#letOthersContinue = undefined
    waker?.wake()
    waiters.changed()
  }
}
