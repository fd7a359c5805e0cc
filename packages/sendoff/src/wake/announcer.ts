import { describeError } from '../describe-error.ts'
import type { Clock } from '../clock.ts'
import { StoreRecovery } from '../store-calls/store-recovery.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxWakeUps, WakeUp } from '../store/index.ts'

export interface AnnouncerOptions {
  /** Undefined where the store cannot wake other processes. */
  readonly wakeUps: OutboxWakeUps | undefined
  readonly clock: Clock
  readonly logger: Logger
  /** Ends the pause after a signal that failed, which may have taken long. */
  readonly recovery?: StoreRecovery
}

/**
 * After a signal comes a pause of so many times what it took, and what is committed meanwhile is served by one: a database
 * that is busy gets fewer.
 */
const pauseShare = 4
const shortestPauseMs = 1
/** A signal that was lost with its connection has taken long. */
const longestPauseMs = 1_000

/** Moments of later events are rounded up to this. */
const momentStepMs = 10

/**
 * Tells other processes that events were committed: at once when it was quiet, and with one signal
 * for many when it is not, because signals of many transactions would hold each other up.
 */
export class Announcer {
  readonly #options: AnnouncerOptions
  /** The partitions of what other processes were not told of yet. */
  #partitions: Set<number> | 'anywhere' | undefined
  /** When it falls due, by the monotonic clock; 0 stands for now. */
  readonly #moments = new Set<number>()
  #controls = false
  #isBusy = false

  constructor(options: AnnouncerOptions) {
    this.#options = options
  }

  /** Tells of something to deliver in these partitions, or anywhere: now, or after some milliseconds. */
  announce(partitions?: readonly number[], inMs = 0): void {
    const { wakeUps, clock } = this.#options
    if (wakeUps === undefined) return
    if (partitions === undefined) {
      this.#partitions = 'anywhere'
    } else if (this.#partitions !== 'anywhere') {
      this.#partitions ??= new Set()
      for (const partition of partitions) this.#partitions.add(partition)
    }
    this.#moments.add(inMs > 0 ? Math.ceil((clock.monotonic() + inMs) / momentStepMs) * momentStepMs : 0)
    if (!this.#isBusy) void this.#run(wakeUps)
  }

  /** Tells that what is paused has changed. */
  announceControls(): void {
    this.#controls = true
    this.announce()
  }

  async #run(wakeUps: OutboxWakeUps): Promise<void> {
    const { clock, recovery = new StoreRecovery(clock) } = this.#options
    this.#isBusy = true
    while (this.#partitions !== undefined) {
      const startedAt = clock.monotonic()
      const isSent = await this.#signal(wakeUps, this.#takeWanted(startedAt))
      const tookMs = clock.monotonic() - startedAt
      const pauseMs = Math.min(longestPauseMs, Math.max(shortestPauseMs, tookMs * pauseShare))
      await new Promise<void>((resolve) => (isSent ? clock : recovery).schedule(pauseMs, resolve))
    }
    this.#isBusy = false
  }

  #takeWanted(now: number): WakeUp {
    const partitions = this.#partitions === 'anywhere' ? undefined : [...this.#partitions!]
    const isNow = this.#moments.size === 1 && this.#moments.has(0)
    const inMs = [...this.#moments].sort((a, b) => a - b).map((moment) => Math.max(0, moment - now))
    const controls = this.#controls
    this.#partitions = undefined
    this.#moments.clear()
    this.#controls = false
    return { ...(partitions && { partitions }), ...(!isNow && { inMs }), ...(controls && { controls }) }
  }

  // A signal that gets lost costs time, but no event.
  async #signal(wakeUps: OutboxWakeUps, wakeUp: WakeUp): Promise<boolean> {
    try {
      await wakeUps.announce(wakeUp)
      return true
    } catch (error) {
      this.#options.logger.debug(`Other processes could not be woken. ${describeError(error)}`)
      return false
    }
  }
}
