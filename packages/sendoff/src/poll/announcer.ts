import { describeError } from '../describe-error.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxWakeUps } from '../store.ts'

export interface AnnouncerOptions {
  /** Undefined where the store cannot wake other processes. */
  readonly wakeUps: OutboxWakeUps | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * After a signal comes a pause of so many times what it took, and what is committed meanwhile is served by one: a database
 * that is busy gets fewer.
 */
const pauseShare = 4
const shortestPauseMs = 1

/**
 * Tells other processes that events were committed: at once when it was quiet, and with one signal
 * for many when it is not, because signals of many transactions would hold each other up.
 */
export class Announcer {
  readonly #options: AnnouncerOptions
  #wanted = false
  #isBusy = false

  constructor(options: AnnouncerOptions) {
    this.#options = options
  }

  announce(): void {
    if (this.#options.wakeUps === undefined) return
    this.#wanted = true
    if (!this.#isBusy) void this.#run(this.#options.wakeUps)
  }

  async #run(wakeUps: OutboxWakeUps): Promise<void> {
    const { clock } = this.#options
    this.#isBusy = true
    while (this.#wanted) {
      this.#wanted = false
      const startedAt = clock.monotonic()
      await this.#signal(wakeUps)
      const pauseMs = Math.max(shortestPauseMs, (clock.monotonic() - startedAt) * pauseShare)
      await new Promise<void>((resolve) => clock.schedule(pauseMs, resolve))
    }
    this.#isBusy = false
  }

  // A signal that gets lost costs time, but no event.
  async #signal(wakeUps: OutboxWakeUps): Promise<void> {
    try {
      await wakeUps.announce()
    } catch (error) {
      this.#options.logger.debug(`Other processes could not be woken. ${describeError(error)}`)
    }
  }
}
