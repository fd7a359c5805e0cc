import type { Delivery } from '../delivery/delivery.ts'

/**
 * Decides whether a dispatcher takes new events. It takes none after it was closed, while it is barred, and
 * while a suspect runs alone, here or in another dispatcher of the process.
 */
export class IntakeGate {
  /** The suspect that runs alone, or is about to. */
  suspect: Delivery | undefined
  /** Whether another dispatcher of the process runs a suspect. */
  standsStill = false
  #isBarred = false
  #isClosed = false

  get accepts(): boolean {
    return this.isOpen && this.suspect === undefined && !this.standsStill
  }

  /** Whether the gate is neither barred nor closed. A suspect does not count. */
  get isOpen(): boolean {
    return !this.#isClosed && !this.#isBarred
  }

  bar(): void {
    this.#isBarred = true
  }

  unbar(): void {
    this.#isBarred = false
  }

  /** Closes the gate for good. */
  close(): void {
    this.#isClosed = true
  }
}
