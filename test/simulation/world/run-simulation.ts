import type { StoredRow } from '../../../packages/sendoff/src/store/index.ts'
import type { Logger } from '../../../packages/sendoff/src/observe/logger.ts'
import type { HistoryRecord } from '../../faults/history/history-record.ts'
import type { ProcessHistory } from '../../faults/history/process-history.ts'
import { checkHistory, type Violation } from '../../faults/judge/checker.ts'
import type { Evidence, JudgedSettings } from '../../faults/judge/judged-history.ts'
import { beginOfTime, SimulatedDatabase } from '../database/simulated-database.ts'
import type {
  PlannedFault,
  PlannedProcess,
  PlannedTransaction,
  SimulationPlan,
} from '../plan/simulation-plan.ts'
import { priorityDelays, randomDelays } from './delays.ts'
import { earlyViolation } from './early-rules.ts'
import { Network, type PlannedCallFault } from './network.ts'
import { SimulatedNode } from './simulated-node.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { VirtualTime } from './virtual-time.ts'

/** What happened in a simulated history. */
export interface SimulationRun {
  readonly violations: readonly Violation[]
  /** Milliseconds of virtual time. */
  readonly virtualMs: number
  readonly steps: number
  readonly calls: number
  readonly deliveries: number
  /** The faults of calls that came to pass, as `operation/fault`. */
  readonly harmed: readonly string[]
  readonly records: readonly HistoryRecord[]
  /** Lines of the timeline, if they were wanted. */
  readonly timeline: readonly TimelineEntry[]
}

/** One line of the timeline. */
export interface TimelineEntry {
  readonly at: number
  /** A process, or `database`. */
  readonly who: string
  readonly what: string
}

/** Options of a run. */
export interface SimulationOptions {
  /** Keeps every call, log line and record, for a reader. */
  readonly withTimeline?: boolean
}

/** Runs a plan to its end, and judges it. */
export async function runSimulation(
  plan: SimulationPlan,
  options: SimulationOptions = {},
): Promise<SimulationRun> {
  return new Simulation(plan, options.withTimeline ?? false).run()
}

/** After this many leases without a fault, everything has to be settled. */
const livelyLeases = 40

/** More processes than listeners end if every planned poison is given up as it should be. */
const mostEnded = 300

interface Slot {
  readonly planned: PlannedProcess
  node: SimulatedNode | undefined
  starts: number
  /** Whether the slot gets no process any more. */
  isOver: boolean
  isClosing: boolean
}

class Simulation {
  readonly #plan: SimulationPlan
  readonly #time = new VirtualTime()
  readonly #db: SimulatedDatabase
  readonly #network: Network
  readonly #records: HistoryRecord[] = []
  readonly #timeline: TimelineEntry[] = []
  readonly #withTimeline: boolean
  readonly #slots: ReadonlyMap<string, Slot>
  readonly #harmed: string[] = []
  readonly #ready = new Set<string>()
  #early: Violation | undefined
  #openFaults = 0
  #endedByListeners = 0
  #unwritten: number
  #failure: unknown

  constructor(plan: SimulationPlan, withTimeline: boolean) {
    this.#plan = plan
    this.#withTimeline = withTimeline
    this.#unwritten = plan.transactions.length
    const delays = plan.strategy === 'random' ? randomDelays(plan.seed) : priorityDelays(plan.seed)
    this.#network = new Network(this.#time, delays, plan.settings.leaseMs * 1.5, {
      harmed: (fault) => this.#callHarmed(fault),
      ...(withTimeline && {
        ended: (process, what, outcome) =>
          this.#tell(
            'database',
            `${what} of ${process.name}: ${'error' in outcome ? outcome.error.message : textOf(outcome.value)}`,
          ),
      }),
    })
    this.#db = new SimulatedDatabase(this.#time, (actor) => this.#network.hopMs(actor))
    this.#slots = new Map(
      plan.processes.map((planned) => [
        planned.slot,
        { planned, node: undefined, starts: 0, isOver: false, isClosing: false },
      ]),
    )
  }

  async run(): Promise<SimulationRun> {
    for (const slot of this.#slots.values()) if (slot.planned.delivers) this.#start(slot)
    for (const fault of this.#plan.faults) this.#planFault(fault)
    for (const transaction of this.#plan.transactions) {
      this.#time.schedule(transaction.at, () => this.#write(transaction, 1))
    }
    const { leaseMs } = this.#plan.settings
    const lastAt = Math.max(
      0,
      ...this.#plan.faults.map(endOf),
      ...this.#plan.transactions.map(({ at }) => at),
    )
    let calmAt = Infinity
    this.#time.schedule(lastAt, () => {
      this.#network.calm()
      calmAt = this.#time.now
    })
    // Each process that a listener ends is replaced after its lease. None may end them for ever.
    const isLate = () => {
      const ended = Math.min(this.#endedByListeners, mostEnded)
      return this.#time.now > calmAt + (livelyLeases + 1.5 * ended) * leaseMs
    }

    await this.#time.runUntil(() => this.#isStopped || isLate() || this.#isQuiet)
    // Answers that are still under way come, or the processes give them up.
    const until = this.#time.now + leaseMs
    await this.#time.runUntil(() => this.#isStopped || this.#time.now > until)
    await this.#close()
    if (this.#failure !== undefined) throw this.#failure
    return this.#judged()
  }

  /** Whether everything that was planned has happened, and is settled. */
  get #isQuiet(): boolean {
    if (this.#unwritten > 0 || this.#openFaults > 0) return false
    for (const { node, isOver } of this.#slots.values()) if (node === undefined && !isOver) return false
    return !this.#db.hasPending && !this.#db.hasUncommitted
  }

  get #isStopped(): boolean {
    return this.#early !== undefined || this.#failure !== undefined
  }

  /** Asks all processes to end, and waits for that. */
  async #close(): Promise<void> {
    if (this.#isStopped) return
    const { closeMs } = this.#plan.settings
    const open = new Set<string>()
    for (const slot of this.#slots.values()) {
      slot.isOver = true
      const { node } = slot
      if (node === undefined || node.process.isDead || slot.isClosing) continue
      open.add(node.process.name)
      void node.close().then(() => {
        open.delete(node.process.name)
        node.process.kill()
      })
    }
    let isLate = false
    this.#time.schedule(3 * closeMs + 2 * this.#plan.settings.leaseMs, () => (isLate = true))
    await this.#time.runUntil(() => open.size === 0 || isLate || this.#isStopped)
    for (const target of open) this.#driver({ kind: 'stuck', target })
    for (const { node } of this.#slots.values()) node?.process.kill()
  }

  #judged(): SimulationRun {
    const rows = [...this.#db.events.values()].flatMap(({ committed }) => committed ?? [])
    const evidence = this.#evidence(rows)
    const violations =
      this.#early === undefined ? [...checkHistory(evidence), ...this.#busyLoop(rows)] : [this.#early]
    return {
      violations,
      virtualMs: this.#time.now,
      steps: this.#time.steps,
      calls: this.#network.calls,
      deliveries: this.#records.filter(({ kind }) => kind === 'start').length,
      harmed: this.#harmed,
      records: this.#records,
      timeline: this.#timeline,
    }
  }

  /** Finds a process that calls its database without need, over and over. */
  #busyLoop(rows: readonly StoredRow[]): readonly Violation[] {
    const { intervalMs } = this.#plan.settings
    const most = 500 + 40 * rows.length + (this.#time.now / intervalMs) * 12 * this.#plan.processes.length
    const { calls } = this.#network
    if (calls <= most) return []
    const message = `${calls} calls for ${rows.length} events in ${Math.round(this.#time.now)} ms, and at most ${Math.round(most)} are needed`
    return [{ rule: 'no process calls its database in a loop', message }]
  }

  #evidence(rows: readonly StoredRow[]): Evidence {
    return {
      history: this.#records.sort((a, b) => a.at - b.at),
      rows,
      businessRows: this.#db.businessRows,
      settings: judgedSettings(this.#plan),
      wallClock: { from: beginOfTime, to: beginOfTime + this.#time.now },
    }
  }

  #start(slot: Slot): void {
    if (slot.isOver) return
    const { planned } = slot
    slot.starts += 1
    const process = new SimulatedProcess(planned.slot, `${planned.slot}.${slot.starts}`, this.#time)
    const node = new SimulatedNode(process, planned, this.#historyOf(process), {
      plan: this.#plan,
      db: this.#db,
      network: this.#network,
      logger: (of) => this.#loggerOf(of),
      kill: (of) => {
        this.#endedByListeners += 1
        this.#end(slot, of, this.#plan.settings.leaseMs / 10)
      },
      freeze: (of, ms) => this.#freeze(of, ms),
    })
    slot.node = node
    slot.isClosing = false
    node.start().catch((error: unknown) => (this.#failure ??= error))
  }

  #historyOf(process: SimulatedProcess): ProcessHistory {
    return {
      process: process.name,
      now: () => this.#time.now,
      say: (record) => {
        if (process.isDead) return
        const stamped = { at: this.#time.now, process: process.name, ...record } as HistoryRecord
        this.#record(stamped)
        if (stamped.kind === 'ready') this.#isThere(process)
        if (stamped.kind === 'start') {
          this.#early ??= earlyViolation(this.#db, this.#plan, process, stamped)
        }
      },
    }
  }

  /** Starts the processes that only write after the first that delivers: that one sets the mode of the table. */
  #isThere({ name }: SimulatedProcess): void {
    this.#ready.add(name)
    for (const slot of this.#slots.values()) if (slot.starts === 0) this.#start(slot)
  }

  #record(record: HistoryRecord): void {
    this.#records.push(record)
    if (this.#withTimeline) this.#tell(record.process, describeRecord(record))
  }

  #driver(record: Record<string, unknown> & { readonly kind: HistoryRecord['kind'] }): void {
    this.#record({ at: this.#time.now, process: 'driver', ...record } as HistoryRecord)
  }

  #loggerOf({ name }: SimulatedProcess): Logger {
    if (!this.#withTimeline) return { debug() {}, info() {}, warn() {}, error() {} }
    const log = (message: string) => this.#tell(name, `log: ${message}`)
    return { debug() {}, info() {}, warn: log, error: log }
  }

  #tell(who: string, what: string): void {
    this.#timeline.push({ at: this.#time.now, who, what })
  }

  #write(transaction: PlannedTransaction, attempt: number): void {
    const slot = this.#slots.get(transaction.slot)
    const node = slot?.node
    const again = () => this.#time.schedule(1_000, () => this.#write(transaction, attempt))
    if (slot === undefined) {
      this.#unwritten -= 1
      return
    }
    if (
      node === undefined ||
      node.process.isDead ||
      node.process.isFrozen ||
      slot.isClosing ||
      !this.#ready.has(node.process.name)
    ) {
      if (slot.isOver) this.#unwritten -= 1
      else again()
      return
    }
    let isOver = false
    const end = () => {
      if (isOver) return
      isOver = true
      this.#unwritten -= 1
    }
    node.process.onKilled(end)
    node.process.reach(() => {
      void node.write(transaction, attempt).then(end, (error: unknown) => {
        this.#failure ??= error
        end()
      })
    })
  }

  #planFault(fault: PlannedFault): void {
    if (fault.kind === 'call') return this.#network.plan(fault.call)
    this.#openFaults += 1
    this.#time.schedule(fault.at, () => this.#harm(fault))
  }

  #callHarmed(fault: PlannedCallFault): void {
    const { what, kind, slot, ms } = fault
    this.#harmed.push(`${what}/${kind}`)
    const process = this.#slots.get(slot)?.node?.process
    if (kind === 'freeze' && process !== undefined) this.#freeze(process, ms)
    else this.#driver({ kind: 'outage', what: `${kind} of ${what}`, since: this.#time.now, slot })
    if (this.#withTimeline) this.#tell('driver', `${what} of ${slot}: ${kind}, ${Math.round(ms)} ms`)
  }

  #harm(fault: Exclude<PlannedFault, { readonly kind: 'call' }>): void {
    const over = (ms: number, then: () => void = () => {}) =>
      this.#time.schedule(ms, () => {
        then()
        this.#openFaults -= 1
      })
    const slot = 'slot' in fault ? this.#slots.get(fault.slot) : undefined
    const process = slot?.node?.process
    const isWell = process !== undefined && !process.isDead && !process.isFrozen && slot?.isClosing === false
    if ('slot' in fault && !isWell) return void over(0)
    this.#harmed.push(fault.kind)
    switch (fault.kind) {
      case 'kill':
        this.#killed(slot!, process!, fault.ms)
        return void over(fault.ms)
      case 'freeze':
        this.#freeze(process!, fault.ms)
        return void over(fault.ms)
      case 'restart':
        this.#restart(slot!, fault.ms)
        return void over(fault.ms)
      case 'drift':
        process!.drift(fault.rate)
        return void over(0)
      case 'jump':
        process!.jump(fault.ms)
        return void over(0)
      case 'silence':
        this.#network.silence(fault.slot, fault.ms)
        return void over(fault.ms, this.#outage(fault.kind, fault.slot))
      case 'slowNetwork':
        this.#network.slow(fault.slot, fault.ms)
        return void over(fault.ms, this.#outage(fault.kind, fault.slot))
      case 'lostSignals':
        this.#network.harmSignals(0, fault.ms)
        return void over(fault.ms, this.#outage(fault.kind, 'signals'))
      case 'repeatedSignals':
        this.#network.harmSignals(3, fault.ms)
        return void over(fault.ms, this.#outage(fault.kind, 'signals'))
      case 'pause':
        this.#pause(true)
        return void over(fault.ms, () => this.#pause(false))
      case 'databaseCrash': {
        const outage = this.#outage(fault.kind)
        if (this.#withTimeline) this.#tell('database', 'crashes')
        this.#db.crash(fault.losesUncertain)
        return void over(fault.ms, () => {
          this.#db.restart()
          outage()
        })
      }
    }
  }

  /** Returns what records an outage, with its beginning, when it is over. */
  #outage(what: string, slot?: string): () => void {
    const since = this.#time.now
    return () => this.#driver({ kind: 'outage', what, since, ...(slot !== undefined && { slot }) })
  }

  #killed(slot: Slot, process: SimulatedProcess, awayMs: number): void {
    if (process.isDead) return
    this.#driver({ kind: 'fault', fault: 'kill', target: process.name })
    this.#end(slot, process, awayMs)
  }

  #end(slot: Slot, process: SimulatedProcess, awayMs: number): void {
    process.kill()
    slot.node = undefined
    this.#time.schedule(awayMs, () => this.#start(slot))
  }

  #freeze(process: SimulatedProcess, ms: number): void {
    this.#driver({ kind: 'fault', fault: 'stop', target: process.name })
    process.freeze(ms)
    this.#time.schedule(ms, () => {
      if (!process.isDead) this.#driver({ kind: 'fault', fault: 'cont', target: process.name })
    })
  }

  #restart(slot: Slot, awayMs: number): void {
    const node = slot.node!
    const { process } = node
    slot.isClosing = true
    this.#driver({ kind: 'fault', fault: 'restart', target: process.name })
    process.reach(() => {
      void node.close().then(() => {
        if (process.isDead) return
        process.kill()
        this.#driver({ kind: 'exit', target: process.name, code: 0, signal: null, expected: true })
        slot.node = undefined
        this.#time.schedule(awayMs, () => this.#start(slot))
      })
    })
  }

  #pause(isPaused: boolean): void {
    const target = { eventType: 'Planned' }
    if (isPaused) this.#db.paused.set('type Planned', target)
    else this.#db.paused.delete('type Planned')
    if (this.#withTimeline) this.#tell('operator', isPaused ? 'pauses Planned' : 'resumes Planned')
    for (const listener of this.#db.listeners) listener({ controls: true })
    if (!isPaused) this.#driver({ kind: 'outage', what: 'pause', since: this.#time.now })
  }
}

function endOf(fault: PlannedFault): number {
  if (fault.kind === 'call') return fault.at + fault.call.ms
  return fault.at + ('ms' in fault && fault.kind !== 'jump' ? fault.ms : 0)
}

/** How generous the judge is: virtual machines are never busy, but calls may be slow. */
function judgedSettings({ mode, settings }: SimulationPlan): JudgedSettings {
  const { leaseMs } = settings
  return {
    ...settings,
    mode,
    // Clocks may run too fast.
    hangTimeoutMs: settings.hangTimeoutMs * 0.97,
    hangGraceMs: settings.hangGraceMs * 0.97,
    marginMs: leaseMs * 8,
    recoveryMs: leaseMs * 30,
    handOverMs: leaseMs * 10,
  }
}

function textOf(value: unknown): string {
  const text = JSON.stringify(value, (key, each: unknown) =>
    key === 'payload' || key === 'headers' ? undefined : each,
  )
  return text === undefined ? 'done' : text.length > 400 ? `${text.slice(0, 400)}…` : text
}

function describeRecord({ at: _, process: __, kind, ...rest }: HistoryRecord): string {
  return `${kind} ${textOf(rest)}`
}
