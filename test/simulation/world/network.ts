import type { Outcome } from '../database/simulated-database.ts'
import type { Delays } from './delays.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { VirtualTime } from './virtual-time.ts'

/**
 * What goes wrong with one call.
 *
 * - `refused`: it fails at once, without an effect. `cut`: the server ends it before it commits.
 * - `neverArrives`: it is lost, and no answer comes. `silentAnswer`: it has its effect, and no answer comes.
 * - `lostAnswer`: it has its effect, and fails.
 * - `lateArrival`, `lateAnswer`: it takes seconds to the server, or back. `stall`: it takes seconds there, while
 *   it holds its locks.
 * - `freeze`: its process freezes as soon as it has sent the call, and reads the answer seconds later.
 */
export type CallFaultKind =
  | 'refused'
  | 'cut'
  | 'neverArrives'
  | 'silentAnswer'
  | 'lostAnswer'
  | 'lateArrival'
  | 'lateAnswer'
  | 'stall'
  | 'freeze'

export interface CallFault {
  readonly kind: CallFaultKind
  /** How long the late ones take, in ms. */
  readonly ms: number
}

/** A planned fault of a call: it hits the first such call of the process after a moment. */
export interface PlannedCallFault extends CallFault {
  readonly at: number
  readonly slot: string
  /** The call, by the name that it has in the store. */
  readonly what: string
}

/** Observes calls: for the timeline, and to count what was tried. */
export interface NetworkObserver {
  ended?(process: SimulatedProcess, what: string, outcome: Outcome<unknown>): void
  harmed?(fault: PlannedCallFault): void
}

/** The longest hop in a slow network, in ms. */
const slowestMs = 4_000

/** The longest hop after the last fault, in ms. */
const calmMs = 2

/** The way between processes and their database. */
export class Network {
  /** How many ms after its silence began a connection outside the engine counts as lost. */
  readonly silentConnectionMs: number
  readonly #time: VirtualTime
  readonly #delays: Delays
  readonly #observer: NetworkObserver
  readonly #faults: PlannedCallFault[] = []
  readonly #silentUntil = new Map<string, number>()
  readonly #slowUntil = new Map<string, number>()
  #signals: { readonly until: number; readonly copies: 0 | 3 } = { until: -1, copies: 0 }
  #calls = 0
  #isCalm = false

  constructor(time: VirtualTime, delays: Delays, silentConnectionMs: number, observer: NetworkObserver = {}) {
    this.#time = time
    this.#delays = delays
    this.silentConnectionMs = silentConnectionMs
    this.#observer = observer
  }

  get now(): number {
    return this.#time.now
  }

  /** How many calls processes have begun. */
  get calls(): number {
    return this.#calls
  }

  after(ms: number, callback: () => void): void {
    this.#time.schedule(ms, callback)
  }

  /** How long the next hop of an actor takes, in ms. */
  hopMs(actor: string): number {
    const ms = this.#isCalm ? Math.min(calmMs, this.#delays.nextMs(actor)) : this.#delays.nextMs(actor)
    const slot = actor.slice(0, actor.indexOf(' '))
    return (this.#slowUntil.get(slot) ?? -1) > this.now ? Math.min(ms * 60, slowestMs) : ms
  }

  /** Lets no hop take long from now on: nothing goes wrong any more. */
  calm(): void {
    this.#isCalm = true
  }

  /** Plans a fault of a call. */
  plan(fault: PlannedCallFault): void {
    this.#faults.push(fault)
  }

  /** Counts a call, and returns what goes wrong with it. */
  faultOf(slot: string, what: string): CallFault | undefined {
    this.#calls += 1
    if (this.#faults.length === 0) return undefined
    const index = this.#faults.findIndex(
      (fault) => fault.slot === slot && fault.what === what && fault.at <= this.now,
    )
    if (index === -1) return undefined
    const [fault] = this.#faults.splice(index, 1)
    this.#observer.harmed?.(fault!)
    return fault
  }

  /** Loses everything that a process sends or gets for a while. */
  silence(slot: string, ms: number): void {
    this.#silentUntil.set(slot, this.now + ms)
  }

  isSilent(slot: string): boolean {
    return (this.#silentUntil.get(slot) ?? -1) > this.now
  }

  /** Makes every hop of a process take long for a while, each another time. */
  slow(slot: string, ms: number): void {
    this.#slowUntil.set(slot, this.now + ms)
  }

  /** Loses wake-ups for a while, or brings each three times. */
  harmSignals(copies: 0 | 3, ms: number): void {
    this.#signals = { copies, until: this.now + ms }
  }

  /** Returns after how long each copy of a wake-up arrives. */
  signalDelays(slot: string, actor: string): readonly number[] {
    if (this.isSilent(slot)) return []
    const copies = this.#signals.until > this.now ? this.#signals.copies : 1
    return Array.from({ length: copies }, () => this.hopMs(actor))
  }

  /** Tells the observer how a call ended at the server. */
  told(process: SimulatedProcess, what: string, outcome: Outcome<unknown>): void {
    this.#observer.ended?.(process, what, outcome)
  }
}
