import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EventStatus } from '../../../packages/sendoff/src/store/event-status.ts'
import type { StoredRow } from '../../../packages/sendoff/src/store/index.ts'
import { faultPlan, type PlannedFault } from './fault-plan.ts'
import type { FaultSite, FaultStore, OpenedStore, RunSlots, SiteHarm } from '../stores/fault-store.ts'
import { faultStore } from '../stores/fault-stores.ts'
import { FaultedProcess } from './faulted-process.ts'
import { countIntents, HistoryFile, lastSaid, monotonicMs, readHistory } from '../history/history-file.ts'
import type { Evidence } from '../judge/judged-history.ts'
import { lockHarms, lockHolder } from '../stores/lock-harms.ts'
import type { NodeSettings } from '../processes/node-setup.ts'
import type { FaultRunOptions } from './run-faults.ts'
import { ProcessGroup } from '../../services/processes/process-group.ts'
import { scale } from './scale.ts'
import { SeededRandom } from './seeded-random.ts'
import type { WritingPlan } from '../processes/writer-process.ts'

/** One run: its processes, its site, and the harm that is done to both. */
export class RunningFaults {
  readonly #options: FaultRunOptions
  readonly #folder: string
  readonly #kind: FaultStore
  readonly #site: FaultSite
  readonly #random: SeededRandom
  readonly #history: HistoryFile
  readonly #opened: OpenedStore
  readonly #workers: FaultedProcess[] = []
  readonly #writers: FaultedProcess[] = []
  readonly #failures: unknown[] = []
  readonly #preparedAt = Date.now()
  #startedAt = 0
  #isRollingOut = false
  /** How many processes began with the old release, and how many of them after the first new code. */
  oldStarts = 0
  oldRestarts = 0
  killedMigrations = 0

  static async prepare(options: FaultRunOptions, folder: string): Promise<RunningFaults> {
    const kind = await faultStore(options.store)
    return new RunningFaults(options, folder, kind, await kind.site(folder, slotsOf(options)))
  }

  private constructor(options: FaultRunOptions, folder: string, kind: FaultStore, site: FaultSite) {
    this.#options = options
    this.#folder = folder
    this.#kind = kind
    this.#site = site
    this.#random = new SeededRandom(options.seed)
    this.#history = new HistoryFile(folder, 'driver')
    this.#opened = kind.open(site.location)
  }

  async throughFaults(): Promise<void> {
    const { durationMs, faults, leaseMs, processFaults } = this.#options
    const { workers, writers } = slotsOf(this.#options)
    const plan = faultPlan(this.#random, {
      durationMs,
      faults,
      leaseMs,
      slots: workers.length + writers.length,
      harms: this.#harms,
      ...(processFaults !== undefined && { processFaults }),
    })
    await this.#kind.prepare(this.#site.location)
    const { oldRelease } = this.#options
    // Otherwise the processes of the old release make the schema.
    if (oldRelease === undefined) await this.#opened.store.migrate()
    for (const slot of workers) this.#addWorker(slot)
    for (const [index, slot] of writers.entries()) this.#addWriter(slot, index >= this.#options.writers.only)
    // A process that only writes uses the mode that the workers have set.
    await Promise.all(this.#workers.map((process) => process.start()))
    this.#startedAt = monotonicMs()
    await Promise.all(this.#writers.map((process) => process.start()))

    const harm: Promise<void>[] = []
    if (oldRelease !== undefined)
      harm.push(this.#rollOut().catch((error: unknown) => void this.#failures.push(error)))
    for (const fault of plan) {
      await delay(fault.afterMs)
      harm.push(this.#do(fault).catch((error: unknown) => void this.#failures.push(error)))
    }
    await Promise.all(harm)
    await this.#untilSettled()
    await Promise.all(this.#processes.map((process) => process.end()))
    if (this.#failures.length > 0) throw this.#failures[0]
  }

  async evidence(): Promise<Evidence> {
    const { marginMs, recoveryMs, handOverMs } = this.#options
    const { abandonedMs = 0 } = this.#kind
    return {
      history: readHistory(this.#folder),
      rows: await this.#allRows(),
      businessRows: await this.#kind.businessRows(this.#site.location),
      settings: { ...this.#settings('', ''), marginMs, recoveryMs, handOverMs, abandonedMs },
      wallClock: { from: this.#preparedAt, to: Date.now() },
    }
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.destroy()))
    await this.#opened.store.close()
    await this.#opened.end()
    await this.#site.close()
    this.#history.close()
  }

  get #harms(): FaultSite['harms'] {
    const { mode, harms: names } = this.#options
    const ofLock = mode === 'singleWriter' ? lockHarms(this.#kind, this.#site.location) : {}
    const all = Object.entries({ ...this.#site.harms, ...ofLock })
    return Object.fromEntries(all.filter(([name]) => names?.includes(name) ?? true))
  }

  get #processes(): readonly FaultedProcess[] {
    return [...this.#workers, ...this.#writers]
  }

  async #do({ kind, slot, forMs, killAfterMs }: PlannedFault): Promise<void> {
    const harm = this.#harms[kind]
    if (harm !== undefined) {
      await this.#harm(kind, harm, slot, forMs)
      if (killAfterMs === undefined || harm.targets !== 'everybody' || !this.#kills) return
      await delay(killAfterMs)
    }
    const target = (await this.#wellHolder()) ?? this.#wellFrom(this.#processes, slot)
    if (harm !== undefined) await target?.kill(0)
    else if (kind === 'kill') await target?.kill(forMs)
    else if (kind === 'stop') await target?.stopFor(forMs)
    else await target?.restart()
  }

  get #kills(): boolean {
    const { processFaults, mode } = this.#options
    // A single writer's lock is harmed far more often than it could be replaced.
    return (processFaults?.includes('kill') ?? true) && mode !== 'singleWriter'
  }

  async #harm(what: string, harm: SiteHarm, slot: number, forMs: number): Promise<void> {
    const { targets } = harm
    const possible = this.#processes.filter(({ slot }) => targets === 'everybody' || targets.includes(slot))
    const target = this.#wellFrom(possible, slot) ?? possible[0]!
    const since = monotonicMs()
    await harm.do(target.slot, forMs)
    const whom = targets === 'everybody' ? {} : { slot: target.slot }
    this.#history.say({ kind: 'outage', what, since, ...whom })
  }

  /** If one process delivers at a time, a fault for a process hits that one. */
  async #wellHolder(): Promise<FaultedProcess | undefined> {
    if (this.#options.mode !== 'singleWriter') return undefined
    const holder = await lockHolder(this.#kind, this.#site.location)
    return this.#processes.find(({ name, isWell }) => isWell && name === holder)
  }

  /** A fault for a process hits the next one that is well enough for it. */
  #wellFrom(processes: readonly FaultedProcess[], slot: number): FaultedProcess | undefined {
    const first = slot % processes.length
    return [...processes.slice(first), ...processes.slice(0, first)].find((process) => process.isWell)
  }

  /** Resolves when every writer has written all its events and nothing is pending. */
  async #untilSettled(): Promise<void> {
    const limit = performance.now() + this.#options.settleLimitMs
    const pending = () => this.#opened.store.people.count({ status: [EventStatus.NEW, EventStatus.RETRY] })
    while (!this.#writersFinished() || (await pending()) > 0) {
      if (performance.now() > limit) return // The checker reports what is missing.
      if (this.#failures.length > 0) throw this.#failures[0]
      await delay(100)
    }
  }

  #writersFinished(): boolean {
    const finished = readdirSync(this.#folder).filter((name) => name.endsWith('.finished'))
    return finished.length === this.#writers.length
  }

  async #allRows(): Promise<readonly StoredRow[]> {
    const rows: StoredRow[] = []
    for (;;) {
      const page = await this.#opened.store.people.query({ limit: 5_000, afterSeq: rows.at(-1)?.seq ?? 0 })
      if (page.length === 0) return rows
      rows.push(...page)
    }
  }

  /** Lets one migration after another be killed a little later, until one is done. */
  async #rollOut(): Promise<void> {
    const { store, durationMs } = this.#options
    await delay(durationMs / 4)
    this.#isRollingOut = true
    for (let count = 0; ; count += this.#random.integer(1, scale({ small: 6, full: 2 }))) {
      const group = new ProcessGroup(process.execPath, [
        script('migrating-process.ts'),
        store,
        this.#site.location,
        String(count),
      ])
      const { code, signal } = await group.ended
      if (code === 0) return
      if (signal !== 'SIGKILL') throw new Error(`The migration failed:\n${group.output}`)
      this.killedMigrations += 1
    }
  }

  /** The program of a process, of the old release or of this one. */
  #program(name: string): readonly string[] {
    const { oldRelease } = this.#options
    const isOld = oldRelease !== undefined && (!this.#isRollingOut || this.#random.chance(0.5))
    if (!isOld) return [script(name)]
    this.oldStarts += 1
    if (this.#isRollingOut) this.oldRestarts += 1
    return [...oldRelease.nodeArguments, join(oldRelease.programs, name)]
  }

  #addWorker(slot: string): void {
    this.#workers.push(
      this.#process(slot, (name) => [
        ...this.#program('worker-process.ts'),
        JSON.stringify(this.#settings(slot, name)),
      ]),
    )
  }

  #addWriter(slot: string, delivers: boolean): void {
    const { events, faults, durationMs, writers, behaviours, keys, poisonPerWriter, longTransactions } =
      this.#options
    // A transaction has five or six events.
    const transactions = Math.ceil(events / 5.3 / (writers.only + writers.delivering))
    const seed = this.#random.integer(0, 2 ** 31)
    const dies = faults > 0 && (this.#options.processFaults?.includes('kill') ?? true)
    const writing = (name: string): WritingPlan => ({
      seed: seed + hashOf(name),
      from: countIntents(this.#folder, slot),
      to: transactions,
      keys,
      poisonAt: Array.from({ length: poisonPerWriter }, (_, n) => n * 2 + 1),
      lanes: longTransactions > 0 ? 6 : (this.#site.accessOf(slot).lanes ?? 1),
      until: this.#startedAt + durationMs,
      behaviours,
      delivers,
      longTransactions: delivers ? longTransactions : 0,
      deathAtCommit: dies ? 0.003 : 0,
      lossAtCommit: dies ? 0.01 : 0,
      finishedFile: join(this.#folder, `${slot}.finished`),
    })
    this.#writers.push(
      this.#process(slot, (name) => [
        ...this.#program('writer-process.ts'),
        JSON.stringify(this.#settings(slot, name)),
        JSON.stringify(writing(name)),
      ]),
    )
  }

  #process(slot: string, command: (name: string) => readonly string[]): FaultedProcess {
    return new FaultedProcess({
      slot,
      history: this.#history,
      command,
      environment: this.#site.accessOf(slot).environment ?? {},
      // Closing has three parts.
      endLimitMs: 3 * this.#options.closeMs + 5_000,
      mayDie: (name) => lastSaid(this.#folder, name)?.kind === 'fault',
    })
  }

  /** The second third of the run. */
  get #broken(): { readonly from: number; readonly to: number } {
    const { durationMs } = this.#options
    return { from: this.#startedAt + durationMs / 3, to: this.#startedAt + (durationMs * 2) / 3 }
  }

  #settings(slot: string, name: string): NodeSettings {
    const { store, mode, workerCount, leaseMs, maxLosses, renewalLosses } = this.#options
    const { listenersDiffer, hasUsualQueues, closeMs } = this.#options
    return {
      store,
      location: this.#site.accessOf(slot).location,
      folder: this.#folder,
      name,
      mode,
      workerCount,
      leaseMs,
      intervalMs: 200,
      maxAttempts: 4,
      maxLosses,
      hangTimeoutMs: 300,
      hangGraceMs: 300,
      renewalLosses,
      listenersDiffer,
      hasUsualQueues,
      closeMs,
      ...(this.#options.hasDestinations && { broken: this.#broken }),
    }
  }
}

function slotsOf({ workers, writers }: FaultRunOptions): RunSlots {
  const named = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n + 1}`)
  return {
    workers: named('worker', workers),
    writers: [...named('writer', writers.only), ...named('node', writers.delivering)],
  }
}

function script(name: string): string {
  return join(import.meta.dirname, '../processes', name)
}

function hashOf(name: string): number {
  let hash = 0
  for (const character of name) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0
  return hash % 1_000_003
}
