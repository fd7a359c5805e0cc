import type { Delivery } from '../delivery/delivery.ts'

/**
 * Whether a dispatcher takes new events: not once it closes, not while it is barred, and not while a suspect has the process
 * to itself.
 */
export class IntakeGate {
  /** The delivery that runs alone, or is about to. */
  suspect: Delivery | undefined
  #isBarred = false
  #isClosed = false

  get accepts(): boolean {
    return this.isOpen && this.suspect === undefined
  }

  /** Neither barred nor closed. A suspect does not count. */
  get isOpen(): boolean {
    return !this.#isClosed && !this.#isBarred
  }

  bar(): void {
    this.#isBarred = true
  }

  unbar(): void {
    this.#isBarred = false
  }

  /** For good. */
  close(): void {
    this.#isClosed = true
  }
}
