import type { SiteHarm } from '../stores/fault-store.ts'
import type { SeededRandom } from './seeded-random.ts'

/** Something that is done to one process of a run, or on the way to its data. */
export interface PlannedFault {
  /** After the fault before it. */
  readonly afterMs: number
  /** `kill`, `stop` or `restart` a process, or one of the harms of the site. */
  readonly kind: string
  /** Which of the processes, from 0. */
  readonly slot: number
  /** How long a stopped process is stopped, a killed one is away, or a harm lasts. */
  readonly forMs: number
  /** How long after the end of everybody's outage a process is killed, if any is. */
  readonly killAfterMs?: number
}

export interface FaultPlanOptions {
  readonly faults: number
  readonly slots: number
  readonly durationMs: number
  readonly leaseMs: number
  readonly harms: Readonly<Record<string, Pick<SiteHarm, 'weight' | 'leases'>>>
  /** What is done to processes: everything that can be where left out. */
  readonly processFaults?: readonly string[]
}

/** Whoever is stopped is stopped for longer than its lease. */
const processFaults: FaultPlanOptions['harms'] = {
  kill: { weight: 40, leases: [0, 0.5] },
  stop: { weight: 35, leases: [1.2, 2.2] },
  restart: { weight: 25, leases: [0, 0.5] },
}

/** Faults spread over the time of a run: one of each kind as far as there are enough, and others by their weights. */
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
    // Where it is later than half a lease, results of before that have to be settled.
    ...(random.chance(0.7) && { killAfterMs: random.between(0.4, 1) * Math.min(1_000, leaseMs) }),
  }))
}
