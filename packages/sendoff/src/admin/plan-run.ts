import type { Clock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import type { SafeProgress } from '../observe/safe-progress.ts'
import { anything, callable, checkOptions, type OptionCheck } from '../options.ts'
import type { AuditEntry, HolderOfRow, ScanPlace, StoredRow, StoreWith } from '../store/index.ts'
import { withoutChanged } from './changed-since.ts'
import { pageSize, scanWindow } from './limits.ts'
import { Pace } from './pace.ts'
import type { Plan } from './plan.ts'

/** Options of `run` and `resumeRun`. */
export interface RunOptions {
  /** How many events to act on per second at most. Default: no limit. */
  readonly ratePerSecond?: number
  /** How many events one transaction acts on: 1 to 1,000. Default: 500, and a tenth of the rate at most. */
  readonly batchSize?: number
  /** Called after each batch. Its faults are logged, and the run goes on. */
  readonly onProgress?: (progress: PlanProgress) => unknown
  /** Aborting it stops the run after the batch under way. `resumeRun` continues it. */
  readonly signal?: AbortSignal
}

/** How far a plan has got. */
export interface PlanProgress {
  /** The id of its audit entry, for `resumeRun`. */
  readonly id: string
  /** How many events it has changed. */
  readonly acted: number
  /** How many events it has left alone, because a worker holds them. */
  readonly held: number
  /** How many events the plan counted. */
  readonly count: number
}

/** The result of a run. */
export interface PlanResult extends PlanProgress {
  /** `stopped` if the signal ended the run before its end. */
  readonly state: 'done' | 'stopped'
  /** Up to 100 of the events that workers hold. */
  readonly heldEvents: readonly HolderOfRow[]
}

/** Defaults of `run`. */
export const runDefaults = { batchSize: 500 }

const maxHeldNames = 100

/** The progress of a plan as its audit entry has it. */
interface StoredProgress {
  readonly step: number
  readonly after: ScanPlace | null
  readonly held: number
  /** Changes with every process that runs the plan, so that an earlier one notices. */
  readonly runner: string
  /** The pace that the operator asked for; null without one. */
  readonly ratePerSecond: number | null
}

const rate: OptionCheck = (value) =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? undefined : 'a number above 0'

/** Checks the options of a run. */
export function checkRunOptions(what: string, options: RunOptions): void {
  checkOptions(what, options, {
    ratePerSecond: rate,
    batchSize: pageSize,
    onProgress: callable,
    signal: anything,
  })
}

/** The parts of a run. */
export interface RunParts<Tx> {
  readonly store: StoreWith<Tx, 'people' | 'looks' | 'actions'>
  readonly clock: Clock
  readonly actor: string
  readonly progress: SafeProgress
  /** A name that no other run has. */
  readonly runner: string
}

/** Adds the audit entry of a plan, and runs the plan. */
export async function runPlan<Tx>(parts: RunParts<Tx>, plan: Plan, options: RunOptions): Promise<PlanResult> {
  const { store, actor, runner } = parts
  const { ratePerSecond = null } = options
  const progress = JSON.stringify({
    step: 0,
    after: null,
    held: 0,
    runner,
    ratePerSecond,
  } satisfies StoredProgress)
  const { action, filter, reason, count } = plan
  const detail = JSON.stringify({ filter, count, ...(reason !== '' && { reason }) })
  const id = await store.actions.record({
    entry: { actor, action, detail, plan: JSON.stringify(plan), state: 'running', progress },
    rows: [],
  })
  return new PlanRun(parts, plan, options, { id, affected: 0, progress }).run()
}

/** Continues a plan from where its audit entry says it is. Adds an audit entry of who does so. */
export async function resumePlan<Tx>(
  parts: RunParts<Tx>,
  entry: AuditEntry,
  options: RunOptions,
): Promise<PlanResult> {
  const { at } = await parts.store.looks.bound()
  // The entry of the plan names only the operator who began it.
  const action = options.signal?.aborted ? 'stopRun' : 'resumeRun'
  const detail = JSON.stringify({ plan: entry.id })
  await parts.store.actions.record({ entry: { actor: parts.actor, action, detail }, rows: [] })
  const sinceLastMs = Math.max(0, at - (entry.updatedAt ?? at))
  return new PlanRun(parts, JSON.parse(entry.plan!) as Plan, options, entry, sinceLastMs).run()
}

class PlanRun<Tx> {
  readonly #parts: RunParts<Tx>
  readonly #plan: Plan
  readonly #options: RunOptions
  readonly #id: string
  readonly #pace: Pace
  readonly #batchSize: number
  readonly #ratePerSecond: number
  readonly #isResumed: boolean
  readonly #onProgress: (progress: PlanProgress) => void
  readonly #heldEvents: HolderOfRow[] = []
  #text: string
  #stored: StoredProgress
  #acted: number

  constructor(
    parts: RunParts<Tx>,
    plan: Plan,
    options: RunOptions,
    { id, affected, progress }: Pick<AuditEntry, 'id' | 'affected' | 'progress'>,
    sinceLastMs?: number,
  ) {
    this.#parts = parts
    this.#plan = plan
    this.#options = options
    this.#onProgress = parts.progress.of('run', options)
    this.#id = id
    this.#isResumed = sinceLastMs !== undefined
    this.#acted = affected
    this.#text = progress!
    this.#stored = JSON.parse(progress!) as StoredProgress
    this.#ratePerSecond = options.ratePerSecond ?? this.#stored.ratePerSecond ?? Infinity
    this.#batchSize = Math.max(
      1,
      Math.min(options.batchSize ?? runDefaults.batchSize, Math.ceil(this.#ratePerSecond / 10)),
    )
    // The last batch of the process before counts, too.
    const owed = this.#batchSize - ((sinceLastMs ?? Infinity) / 1_000) * this.#ratePerSecond
    this.#pace = new Pace(parts.clock, this.#ratePerSecond, Math.max(0, owed))
  }

  async run(): Promise<PlanResult> {
    const { filter, bound } = this.#plan
    const { signal } = this.#options
    let after = this.#stored.after ?? undefined
    // From now on, a process that ran the plan before is overtaken.
    if (this.#isResumed) await this.#step('running', after, [])

    while (!signal?.aborted) {
      const { rows, next } = await this.#parts.store.looks.scan({
        filter: { ...filter, bound },
        order: 'oldest',
        after,
        limit: this.#batchSize,
        window: scanWindow,
      })
      const end = next ?? rows.at(-1) ?? after
      if (rows.length > 0) {
        await this.#pace.wait(signal)
        if (signal?.aborted) break
        await this.#step('running', end, await this.#meant(rows))
      }
      after = end
      if (next === undefined) return this.#end('done')
    }
    return this.#end('stopped')
  }

  /** The rows that the plan means. A scan of pending rows also finds rows that have changed since. */
  #meant(rows: readonly StoredRow[]): readonly StoredRow[] | Promise<readonly StoredRow[]> {
    return this.#plan.action === 'cancel' ? withoutChanged(this.#parts.store, this.#plan, rows) : rows
  }

  async #end(state: 'done' | 'stopped'): Promise<PlanResult> {
    await this.#step(state, this.#stored.after ?? undefined, [])
    return { ...this.#progress(), state, heldEvents: this.#heldEvents }
  }

  async #step(state: string, end: ScanPlace | undefined, rows: readonly StoredRow[]): Promise<void> {
    const { store, runner } = this.#parts
    const { action, reason } = this.#plan
    const rate = Number.isFinite(this.#ratePerSecond) ? this.#ratePerSecond : null
    const after = end ? { eventId: end.eventId, destination: end.destination, seq: end.seq } : null
    const { step, held } = this.#stored
    const stored: StoredProgress = { step: step + 1, after, held, runner, ratePerSecond: rate }
    const progress = JSON.stringify(stored)
    const audit = { id: this.#id, expects: this.#text, progress, state }
    const answer = await store.actions.run({ action, rows, reason, audit })
    if (answer.kind === 'overtaken') throw overtaken(this.#id)

    this.#text = progress
    this.#stored = { ...stored, held: held + answer.held.length }
    this.#acted += answer.rows.length
    this.#heldEvents.push(...answer.held.slice(0, maxHeldNames - this.#heldEvents.length))
    if (rows.length === 0) return
    this.#pace.add(answer.rows.length)
    // A wake-up may get lost, so nothing depends on it: pollers find the events at their intervals.
    if (action === 'replay' && answer.rows.length > 0) await store.wakeUps?.announce().catch(() => {})
    this.#onProgress(this.#progress())
  }

  #progress(): PlanProgress {
    return { id: this.#id, acted: this.#acted, held: this.#stored.held, count: this.#plan.count }
  }
}

function overtaken(id: string): OutboxError {
  return new OutboxError(
    'OUTBOX_PLAN_OVERTAKEN',
    `Another process runs plan ${id} by now, or its audit entry was deleted. This run has stopped, and changed nothing since. ` +
      `Look at its progress with admin.audit.entry('${id}').`,
  )
}
