import { type ForgedCases, ForgedRun } from './forged-run.ts'

/** Cases about the lock of a single writer. */
export const lockCases: ForgedCases = {
  'after a lost lock, no more events are repeated than were in flight': {
    broken: [
      {
        what: 'its holder continued after the refusal',
        run: lostLock({ begunAfter: 2 }),
      },
      {
        what: 'the same, and it gave the lock back in the end',
        run: lostLock({ begunAfter: 2 }).says('p', 500, { kind: 'lockGivenUp', token: 'p/1' }),
      },
    ],
    kept: [
      { what: 'only the events in flight came again', run: lostLock({ begunAfter: 0 }) },
      { what: 'one was about to begin when the refusal came', run: lostLock({ begunAfter: 1 }) },
      { what: 'another mode has other rules', run: lostLock({ begunAfter: 2 }).inMode('singleNode') },
      {
        what: 'the first refused event had begun under the lock before',
        run: lostLock({ begunAfter: 2, underNextLock: true }),
      },
    ],
  },
}

/**
 * The lock of `p` is deleted at 100, while `a` is in flight. The store shows it at 113 by refusing the
 * settlement. Then `p` begins some more, under its old lock or under a new one that is deleted as well. `q`
 * begins all of them again.
 */
function lostLock({ begunAfter, underNextLock = false }: ForgedLoss): ForgedRun {
  const more = ['b', 'c'].slice(0, begunAfter)
  const run = new ForgedRun().inMode('singleWriter').takesLock('p', 50, 'p/1').writes('a')
  run.hasHarmedLock(100).delivers('a', { at: 95, until: 110, settled: null })
  run.refuses('a', { by: 'p', at: 112 })
  if (underNextLock) run.takesLock('p', 115, 'p/2').hasHarmedLock(118)
  for (const [index, event] of more.entries()) {
    run.writes(event).delivers(event, { at: 120 + index * 10, until: 125 + index * 10, settled: null })
    run.refuses(event, { by: 'p', at: 140 })
  }
  run.takesLock('q', 200, 'q/1')
  for (const event of ['a', ...more]) run.delivers(event, { by: 'q', at: 210 })
  return run.says('q', 300, { kind: 'lockGivenUp', token: 'q/1' })
}

interface ForgedLoss {
  readonly begunAfter: number
  readonly underNextLock?: boolean
}
