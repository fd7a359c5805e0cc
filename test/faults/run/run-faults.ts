import { parseArgs } from 'node:util'
import { temporaryFolder } from '../../services/machine/temporary-folder.ts'
import { checkHistory, type HistorySummary, summarizeHistory, type Violation } from '../judge/checker.ts'
import type { Behaviour } from '../history/history-record.ts'
import { type FaultMode, keepsOrder } from '../processes/node-setup.ts'
import { firstRelease, type OldRelease } from '../releases/first-release.ts'
import { RunningFaults } from './running-faults.ts'
import { scale } from './scale.ts'
import type { RenewalLosses } from '../processes/silent-renewals.ts'
import type { WritingPlan } from '../processes/writer-process.ts'

export interface FaultRunOptions {
  readonly store: string
  readonly mode: FaultMode
  readonly seed: number
  /** About how many events are committed. */
  readonly events: number
  readonly faults: number
  /** Harms of the site that are done; all if left out. */
  readonly harms?: readonly string[]
  /** Faults of processes; all kinds if left out. */
  readonly processFaults?: readonly string[]
  /** How long events are written and harm is done, in ms. */
  readonly durationMs: number
  readonly workers: number
  /** How many listeners each worker runs at once; `ordered` always has one. */
  readonly workerCount: number
  /** Processes that only write, and processes that deliver as well. */
  readonly writers: { readonly only: number; readonly delivering: number }
  readonly behaviours: WritingPlan['behaviours']
  /** How many ordering keys there are; with 0, events have none. */
  readonly keys: number
  /** Events that end their process. */
  readonly poisonPerWriter: number
  /** How probable it is that a transaction of a process that delivers stays open for longer than a lease. */
  readonly longTransactions: number
  readonly renewalLosses: RenewalLosses
  /** Whether processes have listeners for different events, and leave other events to one another. */
  readonly listenersDiffer: boolean
  /** Whether every event has two destinations, one of which cannot be reached for a third of the run. */
  readonly hasDestinations?: boolean
  /** Whether queues and batches have their default sizes. */
  readonly hasUsualQueues: boolean
  /** How long closing continues with queued events, and then waits for listeners, in ms each. */
  readonly closeMs: number
  readonly leaseMs: number
  readonly maxLosses: number
  /** How much later than within the lease a takeover may be, in ms. */
  readonly marginMs: number
  /** How long an event that was due may wait after an outage, or after the last fault, in ms. */
  readonly recoveryMs: number
  /** How long an event that had not begun may wait after a process was asked to end, in ms. */
  readonly handOverMs: number
  /** How long everything may take after the last fault, in ms. */
  readonly settleLimitMs: number
  /**
   * An older release that all processes begin with. While harm is done, each next process of a slot has the
   * new code or the old one by chance, and migrations are begun and killed.
   */
  readonly oldRelease?: OldRelease
  /** Folder that keeps the data and the history; by default a temporary one that is removed. */
  readonly folder?: string
}

export const usualBehaviours: Readonly<Partial<Record<Behaviour, number>>> = {
  succeed: 890,
  slow: 40,
  // Few, because suspects run alone: events that several killed processes held run one after another.
  outlastLease: 4,
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
  workerCount: 16,
  writers: { only: 1, delivering: 2 },
  behaviours: usualBehaviours,
  keys: 0,
  poisonPerWriter: 0,
  longTransactions: 0,
  renewalLosses: { one: 0, all: 0 },
  listenersDiffer: false,
  hasUsualQueues: false,
  // Enough for everything queued, so that a restart causes no duplicate.
  closeMs: 20_000,
  leaseMs: 1_000,
  maxLosses: 20,
  marginMs: 15_000,
  recoveryMs: 20_000,
  handOverMs: 20_000,
  settleLimitMs: 60_000,
}

/** Harms of the site during a rollout. */
export const rolloutHarms = scale<readonly string[]>({ small: [], full: ['terminate', 'cut'] })

/** Any slow event here holds up everything behind it. */
const orderedBehaviours: FaultRunOptions['behaviours'] = {
  ...usualBehaviours,
  succeed: 930,
  slow: 15,
  outlastLease: 2,
  deferAtFirst: 8,
  hangOnce: 2,
}

/** For `Outbox.partitioned`: many writers of the same keys. */
export const partitionedRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: 1_200,
  durationMs: 4_000,
  behaviours: orderedBehaviours,
  keys: 40,
  settleLimitMs: 120_000,
}

/** Two destinations, one of which cannot be reached for a third of the run. */
export const destinationsRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: scale({ small: 500, full: 10_000 }),
  faults: scale({ small: 6, full: 40 }),
  durationMs: scale({ small: 3_000, full: 60_000 }),
  workers: 2,
  writers: { only: 1, delivering: 1 },
  behaviours: { ...orderedBehaviours },
  hasDestinations: true,
  settleLimitMs: 120_000,
}

/** For `Outbox.ordered`: one event after another. */
export const orderedRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: 150,
  faults: 8,
  durationMs: 3_500,
  behaviours: { ...orderedBehaviours, slow: 5, outlastLease: 0, hangOnce: 0 },
  keys: 5,
}

/**
 * For `Outbox.singleWriter`: lock holders are killed and stopped, and the driver deletes or steals their
 * lock.
 */
export const lockLossRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: 110,
  faults: 20,
  harms: ['deleteLock', 'stealLock'],
  durationMs: 2_000,
  workers: 3,
  workerCount: 1,
  writers: { only: 1, delivering: 0 },
  behaviours: { succeed: 1 },
  leaseMs: 400,
}

/** Poison events among others, with four workers and no other harm. */
export const poisonRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: scale({ small: 120, full: 1_000 }),
  faults: 0,
  durationMs: scale({ small: 1_000, full: 10_000 }),
  writers: { only: 1, delivering: 0 },
  behaviours: { succeed: 9, slow: 1 },
  poisonPerWriter: 3,
  // Suspects run one by one, and everything else waits for them.
  marginMs: 30_000,
  recoveryMs: 30_000,
  leaseMs: 500,
  maxLosses: 5,
}

/**
 * Replies that come late or never: late replies to commits, in transactions that are open for longer than a
 * lease, lost renewals, and silent connections. No process is harmed, so that little is excused.
 */
export const silentRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: scale({ small: 150, full: 10_000 }),
  faults: scale({ small: 5, full: 200 }),
  harms: ['blackHole', 'holdCommit'],
  processFaults: [],
  durationMs: scale({ small: 2_500, full: 120_000 }),
  workers: 3,
  writers: { only: 1, delivering: 1 },
  behaviours: { succeed: 85, outlastLease: 15 },
  longTransactions: 0.3,
  renewalLosses: { one: 0.25, all: 0.03 },
  closeMs: 3_000,
  settleLimitMs: scale({ small: 30_000, full: 180_000 }),
}

/** Lost renewals, and nothing else: one alone costs no lease and no lock, in any mode and on any store. */
export const renewalsRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...silentRun,
  events: scale({ small: 120, full: 3_000 }),
  faults: 0,
  harms: [],
  durationMs: scale({ small: 2_000, full: 60_000 }),
  writers: { only: 1, delivering: 0 },
  behaviours: { succeed: 80, outlastLease: 20 },
  longTransactions: 0,
  // Mostly a poll renews the lock, so that few renewals are left to lose.
  renewalLosses: { one: 0.75, all: 0.03 },
}

/** Processes with different, slow listeners, and no harm. */
export const unequalRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: scale({ small: 220, full: 3_000 }),
  faults: 0,
  durationMs: scale({ small: 300, full: 3_000 }),
  workers: 2,
  workerCount: 4,
  writers: { only: 0, delivering: 1 },
  behaviours: { slow: 2, heardByOdd: 1, heardByEven: 1 },
  listenersDiffer: true,
  hasUsualQueues: true,
  leaseMs: 3_000,
  settleLimitMs: scale({ small: 15_000, full: 60_000 }),
}

/** Processes that are asked to end while listeners run for longer than closing waits for them. */
export const closingRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: scale({ small: 120, full: 3_000 }),
  faults: scale({ small: 1, full: 30 }),
  harms: [],
  processFaults: ['restart'],
  durationMs: scale({ small: 1_000, full: 120_000 }),
  workers: 3,
  workerCount: 4,
  writers: { only: 1, delivering: 0 },
  behaviours: { succeed: 30, outlastClose: 1 },
  closeMs: 200,
  // Interrupted events wait for their lease, and all others must not.
  leaseMs: 4_000,
  handOverMs: 1_800,
}

export interface FaultRun {
  readonly violations: readonly Violation[]
  readonly summary: HistorySummary
  readonly durationMs: number
  /** Starts of old processes, those of them after new code came in, and killed migrations. */
  readonly rollout: {
    readonly oldStarts: number
    readonly oldRestarts: number
    readonly killedMigrations: number
  }
}

/** Starts processes that write and deliver, harms them and their database, and judges what happened. */
export async function runFaults(options: FaultRunOptions): Promise<FaultRun> {
  const startedAt = performance.now()
  const temporary = options.folder === undefined ? temporaryFolder('faults') : undefined
  const folder = options.folder ?? temporary!.path
  const run = await RunningFaults.prepare(options, folder)
  try {
    await run.throughFaults()
    const evidence = await run.evidence()
    return {
      violations: checkHistory(evidence),
      summary: summarizeHistory(evidence),
      durationMs: performance.now() - startedAt,
      rollout: {
        oldStarts: run.oldStarts,
        oldRestarts: run.oldRestarts,
        killedMigrations: run.killedMigrations,
      },
    }
  } finally {
    await run.destroy()
    temporary?.remove()
  }
}

function runOf(mode: FaultMode): typeof usualRun {
  return mode === 'partitioned' ? partitionedRun : mode === 'ordered' ? orderedRun : usualRun
}

/** Runs other than the usual one of their mode, by name. */
export const scenarios: Readonly<Record<string, typeof usualRun>> = {
  poison: poisonRun,
  'lock-loss': lockLossRun,
  silent: silentRun,
  renewals: renewalsRun,
  unequal: unequalRun,
  closing: closingRun,
  destinations: destinationsRun,
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'sqlite' },
      mode: { type: 'string', default: 'multiNode' },
      scenario: { type: 'string' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      events: { type: 'string' },
      faults: { type: 'string' },
      'duration-ms': { type: 'string' },
      keys: { type: 'string' },
      workers: { type: 'string' },
      folder: { type: 'string' },
      rollout: { type: 'boolean', default: false },
    },
  })
  const mode = values.mode as FaultMode
  const scenario = scenarios[values.scenario ?? ''] ?? runOf(mode)
  const oldRelease = values.rollout ? await firstRelease() : undefined
  if (typeof oldRelease === 'string') throw new Error(oldRelease)
  console.log(`seed ${values.seed}`)
  const run = await runFaults({
    ...scenario,
    store: values.store,
    mode,
    seed: Number(values.seed),
    events: Number(values.events ?? scenario.events),
    faults: Number(values.faults ?? scenario.faults),
    durationMs: Number(values['duration-ms'] ?? scenario.durationMs),
    keys: Number(values.keys ?? (keepsOrder(mode) ? runOf(mode).keys : 0)),
    workers: Number(values.workers ?? scenario.workers),
    ...(oldRelease !== undefined && { oldRelease, harms: rolloutHarms }),
    ...(values.folder === undefined ? {} : { folder: values.folder }),
  })
  if (values.rollout) console.log(run.rollout)
  console.log(run.summary, `${Math.round(run.durationMs)} ms`)
  for (const { rule, message } of run.violations) console.log(`VIOLATION ${rule}: ${message}`)
  process.exitCode = run.violations.length > 0 ? 1 : 0
}
