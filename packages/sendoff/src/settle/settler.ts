import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { boundedDelayMs } from '../event/delay.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxStore, Outcome, OwnerFence, Settlement } from '../store/index.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { BackOff, type BackOffOptions, type StoreRecovery } from '../store-calls/store-recovery.ts'
import { findWritten } from './written-settlements.ts'

export interface SettlerOptions {
  readonly store: Pick<OutboxStore<never>, 'people' | 'settle'>
  readonly clock: Clock
  readonly logger: Logger
  readonly recovery: StoreRecovery
  /** Must not throw. */
  readonly onSettled: (delivery: Delivery, settlement: Settlement, refused: boolean) => void
}

const maxBatch = 500
const maxWriters = 2
/** So many are worth a second statement beside the first for those who can begin nothing before. */
const worthwhileBatch = 250
const longestWaitMs = 2
const pauses = { firstMs: 50, longestMs: 5_000 }
const failuresBeforeOneByOne = 3
/** One outcome that cannot be written lets a batch fail so often, and half as often again, before it is alone. */
const failuresBeforeOutage = 14

interface Waiting {
  readonly delivery: Delivery
  readonly outcome: Outcome
  /** An earlier attempt at writing it failed, and may have been written all the same. */
  uncertain: boolean
  isEnded: boolean
}

/** Outcomes that are written together. */
interface Batch {
  readonly items: readonly Waiting[]
  /** How many batches had been written when writing this one failed; undefined before that. */
  readonly writtenAtFailure?: number
}

/**
 * Writes outcomes to the store in batches: when there are enough, or a few milliseconds after the
 * first. One batch is on its way at a time, so that under load the next one fills meanwhile; a
 * second one only if it is full, or nothing can begin before it is written, so that the store has
 * something to do while this process works on the answer to the first.
 *
 * A write that fails is repeated until it succeeds: the listener has done its work, and an event
 * whose settlement got lost would be delivered again. The leases are renewed meanwhile.
 *
 * A failed batch is written again as soon as the store answers any call. If it fails again although others could be written
 * meanwhile, the fault lies in the batch. It is then written apart, in halves, until the outcome that cannot be written
 * is alone. That one is repeated by itself, and holds up no other.
 */
export class Settler {
  readonly #options: SettlerOptions
  readonly #backOffs: BackOffOptions
  readonly #backOff: BackOff
  #waiting: Waiting[] = []
  #failedBatches: Batch[] = []
  #apart: Batch[] = []
  #isWritingApart = false
  #backlog = 0
  #written = 0
  #writers = 0
  #stopped = false
  #cancelTimer: Cancel | undefined
  /** Ends a pause each. */
  readonly #pauses = new Set<() => void>()
  #idle: (() => void)[] = []

  constructor(options: SettlerOptions) {
    this.#options = options
    this.#backOffs = { ...options, ...pauses, what: 'Settling' }
    this.#backOff = new BackOff(this.#backOffs)
  }

  /** Outcomes that the store has not acknowledged yet. */
  get backlog(): number {
    return this.#backlog
  }

  add(delivery: Delivery, outcome: Outcome): void {
    if (this.#stopped) return
    this.#backlog++
    this.#waiting.push({ delivery, outcome, uncertain: false, isEnded: false })
    if (this.#waiting.length >= maxBatch) this.flush()
    else if (this.#writers === 0) {
      this.#cancelTimer ??= this.#options.clock.schedule(longestWaitMs, () => this.flush(), 'keepAlive')
    }
  }

  /** Writes what is there without waiting for more. */
  flush(least = maxBatch): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#writers < maxWriters && this.#hasWorkFor(this.#writers + 1, least)) void this.#writeAll(least)
  }

  /** The same for those who can begin nothing before it is written. */
  flushNow(): void {
    this.flush(worthwhileBatch)
  }

  /** Resolves when everything added so far is acknowledged, or `giveUp` is called. */
  async drained(): Promise<void> {
    this.flush()
    if (this.backlog > 0 && !this.#stopped) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Writes nothing more, and forgets what comes later. What is not acknowledged will be delivered again. */
  giveUp(): void {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#pauses.forEach((end) => end())
    this.#becomeIdle()
  }

  // Never rejects: a failing store is reported and asked again.
  async #writeAll(least: number): Promise<void> {
    this.#writers++
    while (this.#hasWorkFor(this.#writers, least) && !this.#stopped) {
      const batch = this.#nextBatch()
      try {
        await this.#write(batch)
        this.#backOff.succeeded()
      } catch (error) {
        await this.#failed(batch, error)
      }
    }
    this.#writers--
    if (this.#backlog === 0) this.#becomeIdle()
  }

  // A store that fails is asked by one at a time.
  #hasWorkFor(writers: number, least: number): boolean {
    if (writers > 1) return this.#waiting.length >= least && this.#backOff.failures === 0
    return this.#waiting.length > 0 || this.#failedBatches.length > 0
  }

  // What failed and what is new take turns while the store fails: whether others can be written tells where the fault lies.
  #nextBatch(): Batch {
    const { failures } = this.#backOff
    const isTurnOfNew = failures % 2 === 1 && this.#waiting.length > 0
    const again = isTurnOfNew ? undefined : this.#failedBatches.shift()
    if (again === undefined) return { items: this.#takeWaiting() }
    if (again.items.length === 1 || failures < failuresBeforeOneByOne) return again

    const [first, ...others] = again.items
    this.#failedBatches.push({ ...again, items: others })
    return { ...again, items: [first!] }
  }

  // Those who read without a claim prove it by their lock, the one they read under: the next may be this process's as
  // well, but in between it may have been somebody else's.
  #takeWaiting(): readonly Waiting[] {
    const fence = fenceOf(this.#waiting)
    const end = this.#waiting.findIndex(
      ({ delivery: { lock } }) => lock !== undefined && lock.fence !== fence,
    )
    return this.#waiting.splice(0, end === -1 ? maxBatch : Math.min(maxBatch, end))
  }

  async #write({ items }: Batch): Promise<void> {
    const { store, recovery } = this.#options
    const settlements = items.map(({ delivery, outcome }) => ({
      row: delivery.held,
      outcome: outcomeNow(delivery, outcome),
    }))
    const refused = new Set<Settlement>(await store.settle({ settlements, owner: fenceOf(items) }))
    recovery.answered()
    this.#written++
    const doubtful: [Waiting, Settlement][] = []
    const claimedAgain: Waiting[] = []
    items.forEach((waiting, index) => {
      const settlement = settlements[index]!
      if (!refused.has(settlement)) this.#end(waiting, settlement, false)
      else if (waiting.delivery.deliveries !== settlement.row.deliveries) claimedAgain.push(waiting)
      else if (waiting.uncertain) doubtful.push([waiting, settlement])
      else this.#end(waiting, settlement, true)
    })
    if (doubtful.length > 0) await this.#clearUp(doubtful)
    if (claimedAgain.length > 0) this.#writeWithNewLease(claimedAgain)
  }

  // A refusal after a failure has two reasons: the outcome was written then, or another process holds the row.
  async #clearUp(doubtful: readonly [Waiting, Settlement][]): Promise<void> {
    const settlements = doubtful.map(([, settlement]) => settlement)
    const written = await findWritten(this.#options.store.people, settlements)
    for (const [waiting, settlement] of doubtful) this.#end(waiting, settlement, !written.has(settlement))
  }

  #writeWithNewLease(claimedAgain: readonly Waiting[]): void {
    this.#waiting.push(...claimedAgain)
    this.flush()
  }

  #end(waiting: Waiting, settlement: Settlement, refused: boolean): void {
    waiting.isEnded = true
    this.#backlog--
    this.#options.onSettled(waiting.delivery, settlement, refused)
  }

  async #failed(batch: Batch, error: unknown): Promise<void> {
    const failed = { items: unwritten(batch), writtenAtFailure: this.#written }
    if (this.#isOwnFault(batch)) {
      this.#options.recovery.failed('Settling', this.#options.logger, message(failed, error))
      this.#backOff.succeeded()
      if (failed.items.length === 1) return void this.#repeatAlone(failed, error)
      return this.#writeApart(halvesOf(failed.items))
    }

    const isAlone = failed.items.length === 1 && this.#backOff.failures >= failuresBeforeOneByOne
    this.#backOff.failed(message(failed, error))
    if (isAlone) void this.#repeatAlone(failed, error)
    else this.#failedBatches.push(failed)
    if (this.#stopped || !this.#hasWorkFor(1, 1)) return
    await this.#pause(this.#backOff)
  }

  #isOwnFault({ writtenAtFailure = Infinity }: Batch): boolean {
    return this.#written > writtenAtFailure
  }

  #writeApart(halves: readonly Batch[]): void {
    this.#apart.push(...halves)
    if (!this.#isWritingApart) void this.#writeAllApart()
  }

  // Never rejects.
  async #writeAllApart(): Promise<void> {
    this.#isWritingApart = true
    let failures = 0
    for (
      let batch = this.#apart.shift();
      batch !== undefined && !this.#stopped;
      batch = this.#apart.shift()
    ) {
      try {
        await this.#write(batch)
        failures = 0
      } catch (error) {
        const items = unwritten(batch)
        if (items.length > 1) this.#apart.unshift(...halvesOf(items))
        else void this.#repeatAlone({ items }, error)
        if (++failures >= failuresBeforeOutage) this.#endApart()
      }
    }
    this.#isWritingApart = false
    if (this.#backlog === 0) this.#becomeIdle()
  }

  // Nothing can be written any more: the fault is the store's again.
  #endApart(): void {
    const writtenAtFailure = this.#written
    this.#failedBatches.push(...this.#apart.splice(0).map(({ items }) => ({ items, writtenAtFailure })))
    this.flush()
  }

  // Never rejects.
  async #repeatAlone(alone: Batch, failure: unknown): Promise<void> {
    const backOff = new BackOff({ ...this.#backOffs, what: `Settling ${nameOf(alone)}` })
    let error = failure
    while (unwritten(alone).length > 0) {
      backOff.failed(message(alone, error))
      if (this.#stopped) return
      await this.#pause(backOff)
      if (this.#stopped) return
      try {
        await this.#write(alone)
        backOff.succeeded()
        break
      } catch (again) {
        error = again
      }
    }
    if (this.#backlog === 0) this.#becomeIdle()
  }

  #pause(backOff: BackOff): Promise<void> {
    return new Promise<void>((resolve) => {
      const end = () => {
        cancel()
        this.#pauses.delete(end)
        resolve()
      }
      const cancel = backOff.schedule(backOff.pauseMs, end, 'keepAlive')
      this.#pauses.add(end)
    })
  }

  #becomeIdle(): void {
    const waiting = this.#idle
    this.#idle = []
    waiting.forEach((resolve) => resolve())
  }
}

function nameOf({ items }: Batch): string {
  return items.length === 1 ? `event ${items[0]!.delivery.row.eventId}` : `${items.length} events`
}

function message(batch: Batch, error: unknown): string {
  return `Settling ${nameOf(batch)} failed and will be tried again; what was delivered is kept. ${describeError(error)}`
}

/** What is left of a batch that failed. It may have been written. */
function unwritten({ items }: Batch): readonly Waiting[] {
  const left = items.filter(({ isEnded }) => !isEnded)
  for (const waiting of left) waiting.uncertain = true
  return left
}

function halvesOf(items: readonly Waiting[]): readonly Batch[] {
  const half = items.length >> 1
  return [{ items: items.slice(0, half) }, { items: items.slice(half) }]
}

function fenceOf(batch: readonly Waiting[]): OwnerFence | undefined {
  return batch.find(({ delivery }) => delivery.lock !== undefined)?.delivery.lock?.fence
}

// A retry was decided by a number of attempts. Where more were counted meanwhile, one more could be too many:
// the next delivery decides.
function outcomeNow(delivery: Delivery, outcome: Outcome): Outcome {
  if (!('delayMs' in outcome)) return outcome
  // A processor of the user's own may return any number.
  const delayMs = boundedDelayMs(outcome.delayMs)
  if (outcome.kind === 'defer' || !delivery.isOutdated) return { ...outcome, delayMs }
  return { kind: 'defer', delayMs, reason: outcome.failure.error }
}
