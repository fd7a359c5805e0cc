import type { AuditEntry, OutboxAdmin, Plan, PlanProgress, PlanResult, RunOptions } from 'sendoff/admin'

/** How far the run of a plan is. */
export interface RunState extends PlanProgress {
  readonly action: string
  readonly actor: string | null
  readonly startedAt: number
  /** When it took its last step. */
  readonly updatedAt: number | null
  /** `failed` if this process ran it, and an error ended it. It can be resumed. */
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  /** Whether this process runs it. Otherwise another one does, or the one that did was killed. */
  readonly isHere: boolean
  readonly ratePerSecond: number | null
  readonly error: string | null
}

interface HereRun {
  readonly stop: AbortController
  readonly ended: Promise<void>
  progress: PlanProgress
  error: string | null
  isOver: boolean
}

type AnyAdmin = OutboxAdmin<never>

const maxRemembered = 100

/** The runs of plans of one outbox that this process has begun. They go on when the visitor leaves. */
export class PlanRuns {
  readonly #runs = new Map<string, HereRun>()
  readonly #onProgress: () => void

  constructor(onProgress: () => void) {
    this.#onProgress = onProgress
  }

  /** Progress of the runs that this process runs now. */
  get running(): readonly PlanProgress[] {
    return [...this.#runs.values()].filter(({ isOver }) => !isOver).map(({ progress }) => progress)
  }

  /** Begins a plan. Returns the id of its audit entry as soon as it has one. */
  start(admin: AnyAdmin, plan: Plan, options: RunOptions): Promise<string> {
    return this.#begin((more) => admin.run(plan, { ...options, ...more }))
  }

  /** Continues a plan here. */
  async resume(admin: AnyAdmin, id: string, options: RunOptions): Promise<string> {
    return this.#begin((more) => admin.resumeRun(id, { ...options, ...more }))
  }

  /** Stops a plan after the batch under way, whichever process runs it. */
  async stop(admin: AnyAdmin, id: string): Promise<void> {
    const here = this.#runs.get(id)
    if (here !== undefined && !here.isOver) {
      here.stop.abort()
      await here.ended
      return
    }
    // Taking a plan over stops the process that runs it. This one does nothing more then.
    await admin.resumeRun(id, { signal: AbortSignal.abort() })
  }

  /** Stops all plans that this process runs. Each can be resumed, from any process. */
  async close(): Promise<void> {
    const running = [...this.#runs.values()].filter(({ isOver }) => !isOver)
    for (const { stop } of running) stop.abort()
    await Promise.all(running.map(({ ended }) => ended))
  }

  /** Returns the state of a plan by its audit entry. */
  stateOf(entry: AuditEntry): RunState {
    const here = this.#runs.get(entry.id)
    const isHere = here !== undefined && !here.isOver
    const plan = JSON.parse(entry.plan ?? 'null') as Plan | null
    const stored = JSON.parse(entry.progress ?? '{}') as { held?: number; ratePerSecond?: number | null }
    const error = isHere || entry.state !== 'running' ? null : (here?.error ?? null)
    return {
      id: entry.id,
      action: entry.action,
      actor: entry.actor,
      startedAt: entry.at,
      updatedAt: entry.updatedAt,
      state: error === null ? (entry.state as RunState['state']) : 'failed',
      isHere,
      acted: entry.affected,
      held: stored.held ?? 0,
      count: plan?.count ?? 0,
      ratePerSecond: stored.ratePerSecond ?? null,
      error,
    }
  }

  async #begin(run: (options: RunOptions) => Promise<PlanResult>): Promise<string> {
    const stop = new AbortController()
    const known = Promise.withResolvers<string>()
    const here: HereRun = {
      stop,
      ended: known.promise.then(
        () => over,
        () => {},
      ),
      progress: { id: '', acted: 0, held: 0, count: 0 },
      error: null,
      isOver: false,
    }
    const note = (progress: PlanProgress): void => {
      here.progress = progress
      this.#remember(progress.id, here)
      known.resolve(progress.id)
      this.#onProgress()
    }
    const over = run({ signal: stop.signal, onProgress: note }).then(
      (result) => {
        here.isOver = true
        note(result)
      },
      (error: unknown) => {
        here.isOver = true
        here.error = error instanceof Error ? error.message : String(error)
        known.reject(error)
        this.#onProgress()
      },
    )
    return known.promise
  }

  #remember(id: string, run: HereRun): void {
    this.#runs.set(id, run)
    for (const [known, { isOver }] of this.#runs) {
      if (this.#runs.size <= maxRemembered) return
      if (isOver) this.#runs.delete(known)
    }
  }
}
