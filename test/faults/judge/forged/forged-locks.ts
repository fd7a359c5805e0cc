import { EventStatus } from '../../../../packages/sendoff/src/store/event-status.ts'
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
        run: lostLock({ begunAfter: 2 }).says('p', 500, {
          kind: 'lockGivenUp',
          destination: '',
          token: 'p/1',
        }),
      },
      {
        what: 'the same after a failed try, and it never found that try written',
        run: lostLock({ begunAfter: 2 }).says('p', 109, { kind: 'unsettled', since: 108, events: ['a'] }),
      },
      {
        what: 'it found its own try written, and continued after a second refusal',
        run: confirmedThenLost({ begunAfter: 2 }),
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
      {
        what: 'the lock of another destination was lost, and the process continued here',
        run: lostNeighbour(),
      },
      {
        what: 'the first refusal came from its own earlier try, and it found that written',
        run: confirmedThenLost({ begunAfter: 0 }),
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
  return run.says('q', 300, { kind: 'lockGivenUp', destination: '', token: 'q/1' })
}

/**
 * The first settlement of `a` by `p` is written, and its reply is lost. The store refuses the second, and shows `p` that
 * the first was written. Much later `p` loses its lock, while `b`, `c` and `d` are in flight.
 */
function confirmedThenLost({ begunAfter }: ForgedLoss): ForgedRun {
  const inFlight = ['b', 'c', 'd']
  const more = ['e', 'f'].slice(0, begunAfter)
  const run = new ForgedRun().inMode('singleWriter').takesLock('p', 50, 'p/1').writes('a')
  run.delivers('a', { at: 95, until: 105, act: 'defer', settled: null })
  run.says('p', 109, { kind: 'unsettled', since: 107, events: ['a'] })
  run.says('p', 109, { kind: 'cutOff', since: 107, what: 'settle failed' })
  run.says('p', 113, {
    kind: 'settled',
    since: 112,
    settlements: [{ event: 'a', token: 1, outcome: 'defer', refused: true, underLock: true }],
  })
  run.says('p', 115, {
    kind: 'found',
    since: 114,
    rows: [{ event: 'a', token: 2, status: EventStatus.NEW, isFree: true }],
  })
  run.hasHarmedLock(150)
  for (const event of inFlight) run.writes(event).delivers(event, { at: 140, until: 155, settled: null })
  run.refuses('b', { by: 'p', at: 160 })
  for (const event of more) {
    run.writes(event).delivers(event, { at: 170, until: 175, settled: null })
    run.refuses(event, { by: 'p', at: 180 })
  }
  run.takesLock('q', 200, 'q/1')
  run.delivers('a', { by: 'q', at: 205, token: 2 })
  for (const event of [...inFlight, ...more]) run.delivers(event, { by: 'q', at: 210 })
  return run.says('q', 300, { kind: 'lockGivenUp', destination: '', token: 'q/1' })
}

/**
 * `p` holds the locks of two destinations with the same token. It loses the first one, while `a` is in flight there, goes on in
 * the south, and loses the second lock as well, while `b/south` to `f/south` are in flight. `q` begins all of them again.
 */
function lostNeighbour(): ForgedRun {
  const south = ['b', 'c', 'd', 'e', 'f'].map((id) => `${id}/south`)
  const run = new ForgedRun().inMode('singleWriter').writes('a')
  run.takesLock('p', 49, 'p/1', 'south').takesLock('p', 50, 'p/1').hasHarmedLock(100)
  run.delivers('a', { at: 95, until: 110, settled: null }).refuses('a', { by: 'p', at: 112 })
  for (const event of south) run.writes(event).delivers(event, { at: 140, until: 155, settled: null })
  for (const event of south) run.refuses(event, { by: 'p', at: 160 })
  run.takesLock('q', 200, 'q/1').takesLock('q', 201, 'q/1', 'south')
  for (const event of ['a', ...south]) run.delivers(event, { by: 'q', at: 210 })
  for (const destination of ['', 'south'])
    run.says('q', 300, { kind: 'lockGivenUp', destination, token: 'q/1' })
  return run
}

interface ForgedLoss {
  readonly begunAfter: number
  readonly underNextLock?: boolean
}
