import { describeError } from '../describe-error.ts'
import type { Clock } from '../clock.ts'
import { StoreRecovery } from '../store-calls/store-recovery.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxWakeUps, WakeUp } from '../store/index.ts'

/** Options of `Announcer`. */
export interface AnnouncerOptions {
  /** The wake-ups of the store; undefined if it cannot wake other processes. */
  readonly wakeUps: OutboxWakeUps | undefined
  readonly clock: Clock
  readonly logger: Logger
  /** Ends the pause after a failed signal, which may have taken long. */
  readonly recovery?: StoreRecovery
}

/**
 * The pause after a signal is this many times as long as the signal took. One signal then serves all commits
 * of the pause, so a busy database gets fewer signals.
 */
const pauseShare = 4
const shortestPauseMs = 1
/** The longest pause, in milliseconds. A signal that was lost with its connection has taken long. */
const longestPauseMs = 1_000

/** From this age in milliseconds on, a signal is late, and a transaction of a writer carries it. */
const lateMs = 10

/** Due times of later events are rounded up to a multiple of this, in milliseconds. */
const momentStepMs = 10

/**
 * Wakes other processes after commits. After a quiet time it signals at once. Otherwise one signal serves
 * many commits, because signals of many transactions would hold each other up.
 *
 * If writers take all connections, the signal waits for one of them. Then a transaction of a writer carries
 * it, on the connection that it has.
 */
export class Announcer {
  readonly #options: AnnouncerOptions
  /** The partitions of committed events that were not announced yet. */
  #partitions: Set<number> | 'anywhere' | undefined
  /** When the events fall due, by the monotonic clock; 0 means now. */
  readonly #moments = new Set<number>()
  #controls = false
  #isBusy = false
  /** When the oldest event was announced that no signal is under way for. */
  #waitsSince: number | undefined
  /** When the oldest event was announced that the signal under way is for. */
  #signalsSince: number | undefined
  #carriedAt = -Infinity

  constructor(options: AnnouncerOptions) {
    this.#options = options
  }

  /** Wakes other processes for rows of these partitions, or of any: now, or after `inMs` milliseconds. */
  announce(partitions?: readonly number[], inMs = 0): void {
    const { wakeUps, clock } = this.#options
    if (wakeUps === undefined) return
    if (partitions === undefined) {
      this.#partitions = 'anywhere'
    } else if (this.#partitions !== 'anywhere') {
      this.#partitions ??= new Set()
      for (const partition of partitions) this.#partitions.add(partition)
    }
    const now = clock.monotonic()
    this.#waitsSince ??= now
    this.#moments.add(inMs > 0 ? Math.ceil((now + inMs) / momentStepMs) * momentStepMs : 0)
    if (!this.#isBusy) void this.#run(wakeUps)
  }

  /** Wakes other processes because the pauses have changed. */
  announceControls(): void {
    this.#controls = true
    this.announce()
  }

  /**
   * Returns whether a signal is late, so that the caller has to send one for events of any partition. After
   * true, it returns false for a while: few transactions carry a signal, because their commits wait for each
   * other. The announcer sends the late signal all the same, because the transaction may be rolled back.
   */
  takeLateSignal(): boolean {
    const since = this.#signalsSince ?? this.#waitsSince
    if (since === undefined) return false
    const now = this.#options.clock.monotonic()
    if (now - Math.max(since, this.#carriedAt) < lateMs) return false
    this.#carriedAt = now
    return true
  }

  async #run(wakeUps: OutboxWakeUps): Promise<void> {
    const { clock, recovery = new StoreRecovery(clock) } = this.#options
    this.#isBusy = true
    while (this.#partitions !== undefined) {
      const startedAt = clock.monotonic()
      const isSent = await this.#signal(wakeUps, this.#takeWanted(startedAt))
      this.#signalsSince = undefined
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
    this.#signalsSince = this.#waitsSince
    this.#waitsSince = undefined
    this.#partitions = undefined
    this.#moments.clear()
    this.#controls = false
    return { ...(partitions && { partitions }), ...(!isNow && { inMs }), ...(controls && { controls }) }
  }

  // A lost signal costs time, but no event.
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
