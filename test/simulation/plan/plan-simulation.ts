import type { Behaviour } from '../../faults/history/history-record.ts'
import { type FaultMode, keepsOrder } from '../../faults/processes/node-setup.ts'
import { SeededRandom } from '../../faults/run/seeded-random.ts'
import { mixed } from '../world/delays.ts'
import type { CallFaultKind } from '../world/network.ts'
import type {
  FaultKind,
  PlannedEvent,
  PlannedFault,
  PlannedProcess,
  PlannedTransaction,
  SimulationPlan,
  SimulationSettings,
} from './simulation-plan.ts'

/** The size of a history. */
export interface PlanSize {
  readonly processes: number
  readonly events: number
  readonly faults: number
}

export const usualSize: PlanSize = { processes: 3, events: 200, faults: 20 }

/** The share of histories with two destinations. */
const destinationShare = 0.25

/** The defaults of the library, with queues so small that they are sometimes full. */
const usualSettings: SimulationSettings = {
  leaseMs: 30_000,
  intervalMs: 5_000,
  workerCount: 4,
  maxAttempts: 4,
  maxLosses: 8,
  hangTimeoutMs: 10_000,
  hangGraceMs: 30_000,
  closeMs: 10_000,
  coldQueueCapacity: 40,
  hotQueueCapacity: 12,
  batchSize: 10,
  listenersDiffer: false,
}

/** Returns the plan of a history: the same for the same seed. */
export function planSimulation(seed: number, mode: FaultMode, size: PlanSize = usualSize): SimulationPlan {
  const random = new SeededRandom(mixed(seed, mode))
  const processes = planProcesses(random, size.processes)
  const durationMs = usualSettings.leaseMs * random.between(4, 9)
  const bursts = Array.from({ length: Math.max(1, Math.round(size.events / 14)) }, () =>
    random.between(500, durationMs),
  )
  const listenersDiffer = mode === 'multiNode' && random.chance(0.15)
  // Chance of its own, so that the histories of other seeds stay as they are.
  const hasDestinations =
    mode !== 'ordered' && new SeededRandom(mixed(seed, `destinations ${mode}`)).chance(destinationShare)
  const weights = mode === 'ordered' ? orderedBehaviours : listenersDiffer ? unequalBehaviours : behaviours
  const transactions = planTransactions(random, mode, size.events, processes, bursts, weights)
  return {
    seed,
    mode,
    strategy: random.chance(0.5) ? 'random' : 'priority',
    settings: {
      ...usualSettings,
      workerCount: mode === 'singleWriter' ? random.pick([1, 4]) : random.pick([1, 4, 16]),
      listenersDiffer,
      ...(hasDestinations && { broken: { from: durationMs / 3, to: (durationMs * 2) / 3 } }),
    },
    processes,
    transactions,
    faults: planFaults(random, mode, size.faults, processes, bursts, durationMs),
  }
}

// At least one process writes, and at least two deliver if there are two.
function planProcesses(random: SeededRandom, count: number): readonly PlannedProcess[] {
  return Array.from({ length: count }, (_, index) => ({
    slot: `p${index + 1}`,
    writes: index === 0 || random.chance(0.5),
    delivers: index < 2 || random.chance(0.7),
  }))
}

const behaviours: Readonly<Partial<Record<Behaviour, number>>> = {
  succeed: 800,
  slow: 60,
  outlastLease: 8,
  failOnce: 50,
  deferAtFirst: 30,
  hangOnce: 5,
  alwaysFail: 12,
  giveUp: 10,
  unheard: 8,
  poison: 3,
  block: 6,
}

/** Any slow event holds up everything behind it. */
const orderedBehaviours = { ...behaviours, outlastLease: 3, hangOnce: 2, slow: 30, poison: 2, block: 3 }

/** Events that only some processes have a listener for wait for one of these. */
const unequalBehaviours = { ...behaviours, unheard: 0, heardByOdd: 100, heardByEven: 100 }

function planTransactions(
  random: SeededRandom,
  mode: FaultMode,
  events: number,
  processes: readonly PlannedProcess[],
  bursts: readonly number[],
  weights: Readonly<Partial<Record<Behaviour, number>>>,
): readonly PlannedTransaction[] {
  const writers = processes.filter(({ writes }) => writes)
  const keys = keepsOrder(mode) ? random.pick([2, 5, 12]) : 0
  const transactions: PlannedTransaction[] = []
  let planned = 0
  while (planned < events) {
    const name = `t${transactions.length + 1}`
    const count = Math.min(events - planned, random.integer(1, 8))
    const ofKeys = Array.from({ length: random.integer(1, 3) }, () => `key ${random.integer(1, keys)}`)
    transactions.push({
      name,
      slot: random.pick(writers).slot,
      at: random.pick(bursts) + random.between(0, 60),
      events: Array.from({ length: count }, (_, index) =>
        planEvent(
          random,
          `${name}-e${index + 1}`,
          random.weighted(weights as Record<Behaviour, number>),
          keys === 0 ? [] : ofKeys,
        ),
      ),
      openMs: random.chance(0.03)
        ? random.between(10_000, 45_000)
        : random.chance(0.2)
          ? random.between(1, 30)
          : 0,
      rollsBack: random.chance(0.06),
      together: random.chance(0.3),
      hasUndonePart: random.chance(0.04),
      ...(random.chance(0.06) && { repeats: `t${random.integer(1, transactions.length + 1)}` }),
    })
    planned += count
  }
  return transactions.sort((a, b) => a.at - b.at)
}

function planEvent(
  random: SeededRandom,
  id: string,
  behaviour: Behaviour,
  keys: readonly string[],
): PlannedEvent {
  return {
    id,
    behaviour,
    ...(keys.length > 0 && random.chance(0.9) && { key: random.pick(keys) }),
    ...(random.chance(0.04) && { delayMs: random.integer(100, 20_000) }),
  }
}

const kindWeights: Readonly<Record<FaultKind | 'call', number>> = {
  call: 60,
  kill: 9,
  freeze: 8,
  restart: 6,
  drift: 2,
  jump: 2,
  silence: 3,
  slowNetwork: 3,
  lostSignals: 2,
  repeatedSignals: 1,
  databaseCrash: 3,
  pause: 1,
}

/** The calls that each mode makes, for faults to hit. */
const callsOfMode: Readonly<Record<FaultMode, readonly string[]>> = {
  multiNode: ['claim', 'claimTypes', 'renew', 'release', 'settle', 'join'],
  singleNode: [
    'pollPending',
    'claim',
    'renew',
    'release',
    'settle',
    'acquireLock',
    'renewLock',
    'releaseLock',
    'join',
  ],
  singleWriter: [
    'pollPending',
    'claim',
    'renew',
    'release',
    'settle',
    'acquireLock',
    'renewLock',
    'releaseLock',
  ],
  ordered: [
    'readAll',
    'hold',
    'settle',
    'acquireLock',
    'renewLock',
    'releaseLock',
    'claim',
    'release',
    'join',
  ],
  partitioned: [
    ...['readLanes', 'hold', 'settle', 'acquireLock', 'renewLock', 'releaseLock', 'claim', 'release', 'join'],
    ...['shares', 'acquirePartitions', 'releasePartitions'],
  ],
}

const callsOfWriters: readonly string[] = ['insert', 'commit', 'begin', 'announce', 'lockKeys']

export const callFaultKinds: readonly CallFaultKind[] = [
  ...(['refused', 'cut', 'neverArrives', 'silentAnswer', 'lostAnswer'] as const),
  ...(['lateArrival', 'lateAnswer', 'stall', 'freeze'] as const),
]

/** Returns every call that faults can hit in a mode. */
export function harmedCalls(mode: FaultMode): readonly string[] {
  return [
    ...callsOfMode[mode],
    ...callsOfWriters.filter((call) => call !== 'lockKeys' || keepsOrder(mode)),
    'query',
  ]
}

function planFaults(
  random: SeededRandom,
  mode: FaultMode,
  count: number,
  processes: readonly PlannedProcess[],
  bursts: readonly number[],
  durationMs: number,
): readonly PlannedFault[] {
  const { leaseMs } = usualSettings
  return Array.from({ length: count }, () => {
    // Most faults hit a busy moment.
    const at = random.chance(0.8)
      ? random.pick(bursts) + random.between(-20, 400)
      : random.between(0, durationMs)
    const { slot } = random.pick(processes)
    return planFault(random, random.weighted(kindWeights), Math.max(1, at), slot, leaseMs, harmedCalls(mode))
  }).sort((a, b) => a.at - b.at)
}

/**
 * A record of held rows that arrives after its caller gave up may replace a newer one. If the process then crashes, the
 * rows in the newer record count no loss. We know of it, and look for other faults. The caller gives up when any call
 * of the process runs into its time limit.
 */
const records = new Set(['hold', 'pollPending'])

function boundedMs(what: string, ms: number, leaseMs: number): number {
  return records.has(what) ? Math.min(ms, leaseMs * 0.05) : ms
}

function planFault(
  random: SeededRandom,
  kind: PlannedFault['kind'],
  at: number,
  slot: string,
  leaseMs: number,
  calls: readonly string[],
): PlannedFault {
  switch (kind) {
    case 'call': {
      const fault = random.pick(callFaultKinds)
      // Around the time limits of calls, and around the length of a lease.
      const ms = leaseMs * random.pick([0.01, 0.12, 0.45, 0.55, 0.9, 1.05, 1.3]) * random.between(0.9, 1.1)
      const what = random.pick(calls)
      return { kind, at, call: { kind: fault, ms: boundedMs(what, ms, leaseMs), at, slot, what } }
    }
    case 'kill':
    case 'restart':
      return { kind, at, slot, ms: leaseMs * random.pick([0, 0.1, 0.5, 1.5]) }
    case 'freeze':
      return {
        kind,
        at,
        slot,
        ms: leaseMs * random.pick([0.05, 0.4, 0.9, 1, 1.1, 1.5, 2.5]) * random.between(0.95, 1.05),
      }
    case 'drift':
      return { kind, at, slot, rate: random.between(0.98, 1.02) }
    case 'jump':
      return { kind, at, slot, ms: random.pick([-1, 1]) * random.between(1_000, 86_400_000) }
    case 'silence':
    case 'slowNetwork':
      return { kind, at, slot, ms: leaseMs * random.between(0.1, 1.3) }
    case 'lostSignals':
    case 'repeatedSignals':
      return { kind, at, ms: leaseMs * random.between(0.5, 4) }
    case 'pause':
      return { kind, at, ms: leaseMs * random.between(0.1, 0.6) }
    case 'databaseCrash':
      return {
        kind,
        at,
        ms: leaseMs * random.pick([0.01, 0.2, 0.7, 1.2]),
        losesUncertain: random.chance(0.7),
      }
  }
}
