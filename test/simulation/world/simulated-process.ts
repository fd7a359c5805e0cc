import type { Clock } from '../../../packages/sendoff/src/clock.ts'
import { beginOfTime } from '../database/simulated-database.ts'
import type { VirtualTime } from './virtual-time.ts'

/**
 * The shortest timer of Node, in milliseconds. Without it, a clock that drifts leaves rests too small for virtual
 * time to pass, and a poller that waits for one polls for ever.
 */
const shortestTimerMs = 1

/**
 * One process of a simulated world. It has clocks of its own, which may run too fast or be set wrong. Nothing
 * reaches it while it is frozen, or after it was killed.
 */
export class SimulatedProcess {
  /** Unique per process start: the slot and a number. */
  readonly name: string
  /** The name that stays when the process is started again. */
  readonly slot: string
  readonly clock: Clock
  readonly #time: VirtualTime
  readonly #parked: (() => void)[] = []
  #isDead = false
  #frozenUntil = -1
  /** How fast its clocks run. */
  #rate = 1
  #rateSince: { readonly at: number; readonly monotonic: number }
  #wallErrorMs = 0
  readonly #onEnd: (() => void)[] = []

  constructor(slot: string, name: string, time: VirtualTime) {
    this.slot = slot
    this.name = name
    this.#time = time
    // The monotonic clock of a machine begins anywhere.
    this.#rateSince = { at: time.now, monotonic: 1_000_000 + name.length * 777 }
    this.clock = {
      now: () => beginOfTime + Math.floor(this.#monotonic() - this.#start + this.#wallErrorMs),
      monotonic: () => this.#monotonic(),
      schedule: (ms, callback) =>
        this.#time.schedule(Math.max(shortestTimerMs, ms) / this.#rate, () => this.reach(callback)),
      defer: (callback) => void this.#time.schedule(0, () => this.reach(callback)),
    }
    this.#start = this.#rateSince.monotonic - time.now
  }

  readonly #start: number

  get isDead(): boolean {
    return this.#isDead
  }

  get isFrozen(): boolean {
    return this.#frozenUntil > this.#time.now
  }

  /** Runs a callback of the process: now, after it was frozen, or never. */
  reach(callback: () => void): void {
    if (this.#isDead) return
    if (this.isFrozen || this.#parked.length > 0) this.#parked.push(callback)
    else callback()
  }

  /** Lets the process do nothing for a while. Its clocks go on. */
  freeze(ms: number): void {
    const until = this.#time.now + ms
    if (until <= this.#frozenUntil) return
    this.#frozenUntil = until
    this.#time.schedule(ms, () => this.#thaw())
  }

  kill(): void {
    if (this.#isDead) return
    this.#isDead = true
    this.#parked.length = 0
    this.#onEnd.splice(0).forEach((callback) => callback())
  }

  /** Calls back when the process is killed. */
  onKilled(callback: () => void): void {
    this.#onEnd.push(callback)
  }

  /** Sets how fast its clocks run. */
  drift(rate: number): void {
    this.#rateSince = { at: this.#time.now, monotonic: this.#monotonic() }
    this.#rate = rate
  }

  /** Sets the clock with the date, and not the monotonic one. */
  jump(ms: number): void {
    this.#wallErrorMs += ms
  }

  // One callback at a time: each has its promises settled before the next, as in a real event loop.
  #thaw(): void {
    if (this.#isDead || this.isFrozen) return
    const next = this.#parked.shift()
    if (next === undefined) return
    next()
    if (this.#parked.length > 0) this.#time.schedule(0, () => this.#thaw())
  }

  #monotonic(): number {
    const { at, monotonic } = this.#rateSince
    return monotonic + (this.#time.now - at) * this.#rate
  }
}
