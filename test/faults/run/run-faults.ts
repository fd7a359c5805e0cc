import { parseArgs } from 'node:util'
import { temporaryFolder } from '../../services/machine/temporary-folder.ts'
import { checkHistory, type HistorySummary, summarizeHistory, type Violation } from '../judge/checker.ts'
import type { Behaviour } from '../history/history-record.ts'
import { type FaultMode, keepsOrder } from '../processes/node-setup.ts'
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
  /** Which of the site's harms are done; all where left out. */
  readonly harms?: readonly string[]
  /** What is done to processes: everything that can be where left out. */
  readonly processFaults?: readonly string[]
  /** How long events are written and harm is done. */
  readonly durationMs: number
  readonly workers: number
  /** Listeners that each of them runs at once; `ordered` has one in any case. */
  readonly workerCount: number
  /** Processes that only write, and such that deliver as well. */
  readonly writers: { readonly only: number; readonly delivering: number }
  readonly behaviours: WritingPlan['behaviours']
  /** How many ordering keys there are; without any, events have none. */
  readonly keys: number
  /** Events that end their process. */
  readonly poisonPerWriter: number
  /** How probable it is that a transaction of a process that delivers stays open for longer than a lease. */
  readonly longTransactions: number
  readonly renewalLosses: RenewalLosses
  /** Whether processes have listeners for different events, and leave the others' to them. */
  readonly listenersDiffer: boolean
  /** Whether queues are as long, and batches as large, as they are without options. */
  readonly hasUsualQueues: boolean
  /** How long closing goes on with queued events, and waits for listeners: each of them so long. */
  readonly closeMs: number
  readonly leaseMs: number
  readonly maxLosses: number
  /** How much later than within the lease a takeover may be. */
  readonly marginMs: number
  /** How long after an outage, or after the last fault, what was due then may have to wait. */
  readonly recoveryMs: number
  /** How long what had not begun may have to wait after a process was asked to end. */
  readonly handOverMs: number
  /** How long everything may take after the last fault. */
  readonly settleLimitMs: number
  /** Keeps the data and the history there; a temporary folder that is removed where left out. */
  readonly folder?: string
}

export const usualBehaviours: Readonly<Partial<Record<Behaviour, number>>> = {
  succeed: 890,
  slow: 40,
  // Few: those that several processes had in hand when they were killed run alone, one after another.
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
  // Enough for everything queued: a restart then is no reason for a duplicate.
  closeMs: 20_000,
  leaseMs: 1_000,
  maxLosses: 20,
  marginMs: 15_000,
  recoveryMs: 20_000,
  handOverMs: 20_000,
  settleLimitMs: 60_000,
}

/** Whatever takes long here holds up everything behind it. */
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

/** For `Outbox.ordered`: one event after another. */
export const orderedRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: 150,
  faults: 8,
  durationMs: 3_500,
  behaviours: { ...orderedBehaviours, slow: 5, outlastLease: 0, hangOnce: 0 },
  keys: 5,
}

/** For `Outbox.singleWriter`: its holders are killed and stopped, and the lock is taken from them behind their backs. */
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

/** Poison events among others, with four workers and no harm but theirs. */
export const poisonRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...usualRun,
  events: scale({ small: 120, full: 1_000 }),
  faults: 0,
  durationMs: scale({ small: 1_000, full: 10_000 }),
  writers: { only: 1, delivering: 0 },
  behaviours: { succeed: 9, slow: 1 },
  poisonPerWriter: 3,
  // What is under suspicion runs one by one, and everything else waits for it.
  marginMs: 30_000,
  recoveryMs: 30_000,
  leaseMs: 500,
  maxLosses: 5,
}

/**
 * Answers that come late or never: commits that are answered after a lease, in transactions that are open for longer than
 * one, renewals without an answer, and connections that die without a word. No process is harmed, so that little is excused.
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

/** Renewals without an answer, and nothing else: one alone costs no lease and no lock, in any mode and on any store. */
export const renewalsRun: Omit<FaultRunOptions, 'store' | 'mode' | 'seed'> = {
  ...silentRun,
  events: scale({ small: 120, full: 3_000 }),
  faults: 0,
  harms: [],
  durationMs: scale({ small: 2_000, full: 60_000 }),
  writers: { only: 1, delivering: 0 },
  behaviours: { succeed: 80, outlastLease: 20 },
  longTransactions: 0,
}

/** Processes with different listeners, whose listeners are slow, and nothing that goes wrong. */
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

/** Processes that are asked to end while listeners run that take longer than closing waits for them. */
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
  // What was interrupted waits for its lease, and everything else must not.
  leaseMs: 4_000,
  handOverMs: 1_800,
}

export interface FaultRun {
  readonly violations: readonly Violation[]
  readonly summary: HistorySummary
  readonly durationMs: number
}

/** Has processes write and deliver while harm is done to them and to their database, and judges what happened. */
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
    },
  })
  const mode = values.mode as FaultMode
  const scenario = scenarios[values.scenario ?? ''] ?? runOf(mode)
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
    ...(values.folder === undefined ? {} : { folder: values.folder }),
  })
  console.log(run.summary, `${Math.round(run.durationMs)} ms`)
  for (const { rule, message } of run.violations) console.log(`VIOLATION ${rule}: ${message}`)
  process.exitCode = run.violations.length > 0 ? 1 : 0
}
