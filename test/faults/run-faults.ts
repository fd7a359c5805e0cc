import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { EventStatus } from '../../packages/sendoff/src/event/status.ts'
import type { OutboxStore, StoredRow } from '../../packages/sendoff/src/store.ts'
import { temporaryFolder } from '../services/temporary-folder.ts'
import { checkHistory, type HistorySummary, summarizeHistory, type Violation } from './checker.ts'
import { faultPlan, type PlannedFault } from './fault-plan.ts'
import { type FaultStore, faultStore } from './fault-stores.ts'
import { FaultedProcess } from './faulted-process.ts'
import { HistoryFile, readHistory, readHistoryFile } from './history/history-file.ts'
import type { Behaviour } from './history/history-record.ts'
import type { FaultMode, NodeSettings } from './node-setup.ts'
import { SeededRandom } from './seeded-random.ts'
import type { WritingPlan } from './writer-process.ts'

export interface FaultRunOptions {
  readonly store: string
  readonly mode: FaultMode
  readonly seed: number
  /** About how many events are committed. */
  readonly events: number
  readonly faults: number
  /** How long events are written and harm is done. */
  readonly durationMs: number
  readonly workers: number
  /** Processes that only write, and such that deliver as well. */
  readonly writers: { readonly only: number; readonly delivering: number }
  readonly behaviours: WritingPlan['behaviours']
  /** Events that end their process. */
  readonly poisonPerWriter: number
  readonly leaseMs: number
  readonly maxDeliveries: number
  /** How much later than within the lease a takeover may be. */
  readonly marginMs: number
  /** How long everything may take after the last fault. */
  readonly settleLimitMs: number
  /** Keeps the data and the history there; a temporary folder that is removed where left out. */
  readonly folder?: string
}

export const usualBehaviours: Readonly<Partial<Record<Behaviour, number>>> = {
  succeed: 880,
  slow: 40,
  outlastLease: 15,
  failOnce: 30,
  deferAtFirst: 20,
  hangOnce: 3,
  alwaysFail: 5,
  giveUp: 5,
  unheard: 5,
}

export const usualRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  events: 2_000,
  faults: 12,
  durationMs: 4_500,
  workers: 4,
  writers: { only: 1, delivering: 2 },
  behaviours: usualBehaviours,
  poisonPerWriter: 0,
  leaseMs: 1_000,
  maxDeliveries: 20,
  marginMs: 15_000,
  settleLimitMs: 60_000,
}

export interface FaultRun {
  readonly violations: readonly Violation[]
  readonly summary: HistorySummary
  readonly durationMs: number
}

/** Has processes write and deliver while they are killed, stopped and restarted, and judges what happened. */
export async function runFaults(options: FaultRunOptions): Promise<FaultRun> {
  const startedAt = performance.now()
  const temporary = options.folder === undefined ? temporaryFolder('faults') : undefined
  const folder = options.folder ?? temporary!.path
  const run = new RunningFaults(options, folder)
  try {
    await run.throughFaults()
    const evidence = await run.evidence()
    return {
      violations: checkHistory(evidence),
      summary: summarizeHistory(evidence),
      durationMs: performance.now() - startedAt,
    }
  } finally {
    await run.destroy()
    temporary?.remove()
  }
}

class RunningFaults {
  readonly #options: FaultRunOptions
  readonly #folder: string
  readonly #location: string
  readonly #kind: FaultStore
  readonly #random: SeededRandom
  readonly #history: HistoryFile
  readonly #store: OutboxStore<any>
  readonly #processes: FaultedProcess[] = []
  readonly #failures: unknown[] = []

  constructor(options: FaultRunOptions, folder: string) {
    this.#options = options
    this.#folder = folder
    this.#kind = faultStore(options.store)
    this.#location = this.#kind.location(folder)
    this.#random = new SeededRandom(options.seed)
    this.#history = new HistoryFile(folder, 'driver')
    this.#store = this.#kind.open(this.#location)
  }

  async throughFaults(): Promise<void> {
    const { durationMs, faults, leaseMs, workers, writers } = this.#options
    const slots = workers + writers.only + writers.delivering
    const plan = faultPlan(this.#random, { durationMs, faults, leaseMs, slots })
    await this.#kind.prepare(this.#location)
    await this.#store.migrate()
    for (let n = 1; n <= workers; n++) this.#add(`worker${n}`, (name) => this.#workerCommand(name))
    for (let n = 1; n <= writers.only; n++) this.#addWriter(`writer${n}`, false)
    for (let n = 1; n <= writers.delivering; n++) this.#addWriter(`node${n}`, true)
    await Promise.all(this.#processes.map((process) => process.start()))

    const harm: Promise<void>[] = []
    for (const fault of plan) {
      await delay(fault.afterMs)
      harm.push(this.#do(fault).catch((error: unknown) => void this.#failures.push(error)))
    }
    await Promise.all(harm)
    await this.#untilSettled()
    await Promise.all(this.#processes.map((process) => process.end()))
    if (this.#failures.length > 0) throw this.#failures[0]
  }

  async evidence() {
    const history = readHistory(this.#folder)
    const businessRows = await this.#kind.businessRows(this.#location)
    return {
      history,
      rows: await this.#allRows(),
      businessRows,
      settings: { ...this.#settings(''), marginMs: this.#options.marginMs },
    }
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.destroy()))
    await this.#store.close()
    this.#history.close()
  }

  /** What is planned for a process happens to the next one that is well enough for it. */
  async #do({ kind, slot, forMs }: PlannedFault): Promise<void> {
    const inTurn = [...this.#processes.slice(slot), ...this.#processes.slice(0, slot)]
    const target = inTurn.find((process) => process.isWell)
    if (kind === 'kill') await target?.kill(forMs)
    else if (kind === 'stop') await target?.stopFor(forMs)
    else await target?.restart()
  }

  /** Until every writer has written all it should and nothing is pending. */
  async #untilSettled(): Promise<void> {
    const limit = performance.now() + this.#options.settleLimitMs
    const pending = () => this.#store.count({ status: [EventStatus.NEW, EventStatus.RETRY] })
    while (!this.#writersFinished() || (await pending()) > 0) {
      if (performance.now() > limit) return // The checker says what is missing.
      if (this.#failures.length > 0) throw this.#failures[0]
      await delay(100)
    }
  }

  #writersFinished(): boolean {
    const { only, delivering } = this.#options.writers
    return readdirSync(this.#folder).filter((name) => name.endsWith('.finished')).length === only + delivering
  }

  async #allRows(): Promise<readonly StoredRow[]> {
    const rows: StoredRow[] = []
    for (;;) {
      const page = await this.#store.query({ limit: 5_000, afterSeq: rows.at(-1)?.seq ?? 0 })
      if (page.length === 0) return rows
      rows.push(...page)
    }
  }

  #add(slot: string, command: (name: string) => readonly string[]): void {
    this.#processes.push(
      new FaultedProcess({
        slot,
        history: this.#history,
        command,
        mayDie: (name) => {
          const file = join(this.#folder, `${name}.jsonl`)
          return existsSync(file) && readHistoryFile(file).at(-1)?.kind === 'fault'
        },
      }),
    )
  }

  #addWriter(slot: string, delivers: boolean): void {
    const { events, faults, durationMs, writers, behaviours, poisonPerWriter } = this.#options
    // A transaction has five or six events.
    const transactions = Math.ceil(events / 5.3 / (writers.only + writers.delivering))
    const seed = this.#random.integer(0, 2 ** 31)
    this.#add(slot, (name) => {
      const writing: WritingPlan = {
        seed: seed + hashOf(name),
        from: this.#transactionsOf(slot),
        to: transactions,
        poisonAt: Array.from({ length: poisonPerWriter }, (_, n) => n * 2 + 1),
        pauseMs: durationMs / transactions,
        behaviours,
        delivers,
        deathAtCommit: faults === 0 ? 0 : 0.004,
        finishedFile: join(this.#folder, `${slot}.finished`),
      }
      return [script('writer-process.ts'), JSON.stringify(this.#settings(name)), JSON.stringify(writing)]
    })
  }

  #workerCommand(name: string): readonly string[] {
    return [script('worker-process.ts'), JSON.stringify(this.#settings(name))]
  }

  #settings(name: string): NodeSettings {
    const { store, mode, leaseMs, maxDeliveries } = this.#options
    return {
      store,
      location: this.#location,
      folder: this.#folder,
      name,
      mode,
      leaseMs,
      intervalMs: 200,
      maxAttempts: 4,
      maxDeliveries,
      hangTimeoutMs: 300,
      hangGraceMs: 300,
    }
  }

  /** How many transactions the processes of a slot have brought to their end so far. */
  #transactionsOf(slot: string): number {
    return readdirSync(this.#folder)
      .filter((name) => name.startsWith(`${slot}.`) && name.endsWith('.jsonl'))
      .flatMap((name) => readHistoryFile(join(this.#folder, name)))
      .filter((record) => record.kind === 'intent').length
  }
}

function script(name: string): string {
  return join(import.meta.dirname, name)
}

function hashOf(name: string): number {
  let hash = 0
  for (const character of name) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0
  return hash % 1_000_003
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'sqlite' },
      mode: { type: 'string', default: 'multiNode' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      events: { type: 'string', default: String(usualRun.events) },
      faults: { type: 'string', default: String(usualRun.faults) },
      'duration-ms': { type: 'string', default: String(usualRun.durationMs) },
      'lease-ms': { type: 'string', default: String(usualRun.leaseMs) },
      'max-deliveries': { type: 'string', default: String(usualRun.maxDeliveries) },
      poison: { type: 'string', default: '0' },
      folder: { type: 'string' },
    },
  })
  console.log(`seed ${values.seed}`)
  const run = await runFaults({
    ...usualRun,
    store: values.store,
    mode: values.mode as FaultMode,
    seed: Number(values.seed),
    events: Number(values.events),
    faults: Number(values.faults),
    durationMs: Number(values['duration-ms']),
    leaseMs: Number(values['lease-ms']),
    maxDeliveries: Number(values['max-deliveries']),
    poisonPerWriter: Number(values.poison),
    ...(values.folder === undefined ? {} : { folder: values.folder }),
  })
  console.log(run.summary, `${Math.round(run.durationMs)} ms`)
  for (const { rule, message } of run.violations) console.log(`VIOLATION ${rule}: ${message}`)
  process.exitCode = run.violations.length > 0 ? 1 : 0
}
