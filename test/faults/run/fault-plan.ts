import type { SiteHarm } from '../stores/fault-store.ts'
import type { SeededRandom } from './seeded-random.ts'

/** A harm to one process of a run, or on the way to its data. */
export interface PlannedFault {
  /** Time after the fault before it, in ms. */
  readonly afterMs: number
  /** `kill`, `stop` or `restart` a process, or one of the harms of the site. */
  readonly kind: string
  /** Which of the processes, from 0. */
  readonly slot: number
  /** How long a process is stopped, a killed one is away, or a harm lasts, in ms. */
  readonly forMs: number
  /** How long after the end of an outage of all processes one is killed, in ms, if any is. */
  readonly killAfterMs?: number
}

export interface FaultPlanOptions {
  readonly faults: number
  readonly slots: number
  readonly durationMs: number
  readonly leaseMs: number
  readonly harms: Readonly<Record<string, Pick<SiteHarm, 'weight' | 'leases'>>>
  /** Faults of processes; all kinds if left out. */
  readonly processFaults?: readonly string[]
}

/** A stop lasts longer than the lease. */
const processFaults: FaultPlanOptions['harms'] = {
  kill: { weight: 40, leases: [0, 0.5] },
  stop: { weight: 35, leases: [1.2, 2.2] },
  restart: { weight: 25, leases: [0, 0.5] },
}

/**
 * Returns faults spread over the time of a run: one of each kind if there are enough, and others by their
 * weights.
 */
export function faultPlan(random: SeededRandom, options: FaultPlanOptions): readonly PlannedFault[] {
  const { faults, slots, durationMs, leaseMs } = options
  const ofProcesses = Object.entries(processFaults).filter(
    ([kind]) => options.processFaults?.includes(kind) ?? true,
  )
  const kinds = { ...Object.fromEntries(ofProcesses), ...options.harms }
  const weights = Object.fromEntries(Object.entries(kinds).map(([kind, { weight }]) => [kind, weight]))
  const chosen = random.shuffled(
    Array.from({ length: faults }, (_, n) => Object.keys(kinds)[n] ?? random.weighted(weights)),
  )
  return chosen.map((kind) => ({
    afterMs: (durationMs / faults) * random.between(0.5, 1.5),
    kind,
    slot: random.integer(0, slots - 1),
    forMs: leaseMs * random.between(...kinds[kind]!.leases),
    // If it is later than half a lease, results from before have to be settled.
    ...(random.chance(0.7) && { killAfterMs: random.between(0.4, 1) * Math.min(1_000, leaseMs) }),
  }))
}
