import type { Overview, OutboxAdmin } from 'sendoff/admin'
import type { DepthPoint, StateAnswer } from '../api/answers.ts'
import { PlanRuns } from './plan-runs.ts'
import { SharedReads, type SharedReadsOptions } from './shared-reads.ts'

/** How many depths are kept: an hour at one every 5 s. */
const maxDepths = 720
const depthEveryMs = 5_000

/** How many groups an overview has on the page: a table with thousands of types would fill every message. */
const maxGroups = 300

/** Options of `WatchedOutbox`. */
export interface WatchedOutboxOptions extends SharedReadsOptions {
  /** How long a state may be shown to others, in milliseconds. */
  readonly keepMs: number
}

/** An outbox as all visitors see it: one set of reads, one set of runs, and what was seen lately. */
export class WatchedOutbox {
  readonly name: string
  readonly admin: OutboxAdmin<never>
  readonly reads: SharedReads
  readonly runs: PlanRuns
  readonly #keepMs: number
  readonly #depths: DepthPoint[] = []

  constructor(
    name: string,
    admin: OutboxAdmin<never>,
    options: WatchedOutboxOptions,
    onProgress: () => void,
  ) {
    this.name = name
    this.admin = admin
    this.#keepMs = options.keepMs
    this.reads = new SharedReads(options)
    this.runs = new PlanRuns(() => {
      this.reads.forget()
      onProgress()
    })
  }

  /** The depths of the last hour in which a page was open, oldest first. */
  get depths(): readonly DepthPoint[] {
    return this.#depths
  }

  /** Reads the state. All visitors who ask at about the same time share one read. */
  async state(): Promise<StateAnswer> {
    const overview = await this.reads.read('overview', this.#keepMs, () => this.admin.overview())
    const depth = depthOf(overview)
    this.#note(depth)
    const groups = overview.groups.slice(0, maxGroups)
    return { overview: { ...overview, groups }, runs: this.runs.running, depth }
  }

  #note(depth: DepthPoint): void {
    const last = this.#depths.at(-1)
    if (last !== undefined && depth.at - last.at < depthEveryMs) return
    this.#depths.push(depth)
    if (this.#depths.length > maxDepths) this.#depths.shift()
  }
}

function depthOf({ at, counts, oldestDue }: Overview): DepthPoint {
  return {
    at,
    pending: counts.PENDING.count,
    dead: counts.DEAD.count,
    lagMs: Math.max(0, oldestDue?.ageMs ?? 0),
  }
}
