import type { SeededRandom } from './seeded-random.ts'

/** Something that is done to one process of a run. */
export interface PlannedFault {
  /** After the fault before it. */
  readonly afterMs: number
  readonly kind: 'kill' | 'stop' | 'restart'
  /** Which of the processes, from 0. */
  readonly slot: number
  /** How long a stopped process is stopped, or a killed one is away. */
  readonly forMs: number
}

export interface FaultPlanOptions {
  readonly faults: number
  readonly slots: number
  readonly durationMs: number
  readonly leaseMs: number
}

/** Faults spread over the time of a run. Whoever is stopped is stopped for longer than its lease. */
export function faultPlan(random: SeededRandom, options: FaultPlanOptions): readonly PlannedFault[] {
  const { faults, slots, durationMs, leaseMs } = options
  return Array.from({ length: faults }, () => {
    const kind = random.weighted({ kill: 40, stop: 35, restart: 25 })
    return {
      afterMs: (durationMs / faults) * random.between(0.5, 1.5),
      kind,
      slot: random.integer(0, slots - 1),
      forMs: kind === 'stop' ? leaseMs * random.between(1.2, 2.2) : random.between(0, leaseMs / 2),
    }
  })
}
