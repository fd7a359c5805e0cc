import { ok } from 'node:assert/strict'
import { closingRun, type FaultRunOptions, renewalsRun, silentRun, unequalRun } from '../run/run-faults.ts'
import type { FaultMode } from '../processes/node-setup.ts'
import { scale } from '../run/scale.ts'
import { type Diagnosed, soundRun } from './sound-run.ts'

/**
 * Runs with replies that come late or never: late replies to commits, transactions that are open for longer
 * than a lease, lost renewals, and silent connections.
 */
export async function soundSilence(test: Diagnosed, store: string): Promise<void> {
  const { summary } = await soundRun(test, { ...silentRun, store, mode: 'multiNode' })
  for (const what of ['blackHole', 'holdCommit', 'silentRenewal']) {
    ok((summary.outages[what] ?? 0) > 0, `${what} was not part of the run`)
  }
  judgeSize(summary.events, silentRun)
}

/** Runs with lost renewals of leases and locks, and no other harm. */
export async function soundRenewals(test: Diagnosed, store: string, mode: FaultMode): Promise<void> {
  const { summary } = await soundRun(test, { ...renewalsRun, store, mode })
  ok((summary.outages['silentRenewal'] ?? 0) > 0, 'no renewal was lost')
  judgeSize(summary.events, renewalsRun)
}

/** Runs workers with different, slow listeners. */
export async function soundSharing(test: Diagnosed, store: string): Promise<void> {
  const { summary } = await soundRun(test, { ...unequalRun, store, mode: 'multiNode' })
  judgeSize(summary.events, unequalRun)
}

/** Runs with processes that are asked to end while listeners run that outlast closing. */
export async function soundClosings(test: Diagnosed, store: string, mode: FaultMode): Promise<void> {
  const { summary } = await soundRun(test, { ...closingRun, store, mode })
  judgeSize(summary.events, closingRun)
}

type AnswerRun = (test: Diagnosed, store: string) => Promise<void>

/**
 * The runs on a database server. Some run only at full size: they test the engine, and run on SQLite as well.
 */
export const answerRuns: readonly (readonly [name: string, run: AnswerRun])[] = [
  ['every promise is kept', soundSilence],
  ...scale<readonly (readonly [string, AnswerRun])[]>({
    small: [],
    full: [
      // A short run is over before a worker that began later has polled.
      ['workers share slow work, and take nothing that they have no listener for', soundSharing],
      [
        'when one process is asked to end, another continues at once',
        (test, store) => soundClosings(test, store, 'singleNode'),
      ],
      [
        'one renewal without a reply costs no lock',
        (test, store) => soundRenewals(test, store, 'singleNode'),
      ],
    ],
  }),
]

function judgeSize(events: number, planned: Pick<FaultRunOptions, 'events'>): void {
  ok(events > planned.events * 0.6, `${events} events are too few to prove anything`)
}
