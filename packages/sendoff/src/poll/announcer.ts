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
  /** Where there is something that nobody was told of yet. */
  #wanted: Set<number> | 'anywhere' | undefined
  #isBusy = false

  constructor(options: AnnouncerOptions) {
    this.#options = options
  }

  /** In these partitions, or wherever it may be. */
  announce(partitions?: readonly number[]): void {
    if (this.#options.wakeUps === undefined) return
    if (partitions === undefined) {
      this.#wanted = 'anywhere'
    } else if (this.#wanted !== 'anywhere') {
      this.#wanted ??= new Set()
      for (const partition of partitions) this.#wanted.add(partition)
    }
    if (!this.#isBusy) void this.#run(this.#options.wakeUps)
  }

  async #run(wakeUps: OutboxWakeUps): Promise<void> {
    const { clock } = this.#options
    this.#isBusy = true
    while (this.#wanted !== undefined) {
      const partitions = this.#wanted === 'anywhere' ? undefined : [...this.#wanted]
      this.#wanted = undefined
      const startedAt = clock.monotonic()
      await this.#signal(wakeUps, partitions)
      const pauseMs = Math.max(shortestPauseMs, (clock.monotonic() - startedAt) * pauseShare)
      await new Promise<void>((resolve) => clock.schedule(pauseMs, resolve))
    }
    this.#isBusy = false
  }

  // A signal that gets lost costs time, but no event.
  async #signal(wakeUps: OutboxWakeUps, partitions: readonly number[] | undefined): Promise<void> {
    try {
      await wakeUps.announce(partitions)
    } catch (error) {
      this.#options.logger.debug(`Other processes could not be woken. ${describeError(error)}`)
    }
  }
}
