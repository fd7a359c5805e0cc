import { type ForgedCases, ForgedRun } from './forged-run.ts'
import type { Behaviour } from '../../history/history-record.ts'

/** Cases about replies that come late, never or as refusals. */
export const answerCases: ForgedCases = {
  'a delivery is told to stop before another begins': {
    broken: [
      { what: 'it was never told to stop', run: overlapping(null) },
      { what: 'it was told to stop long after', run: overlapping(1_800) },
      {
        what: 'never, and it hung for longer than any wait',
        run: new ForgedRun()
          .writes('a', { behaviour: 'hangOnce' })
          .delivers('a', { at: 100, until: null, act: 'hang', aborted: null })
          .delivers('a', { at: 1_000, by: 'q', token: 2, attempt: 2 }),
      },
    ],
    kept: [
      { what: 'it was told to stop before', run: overlapping(1_000) },
      { what: 'it was told to stop a moment later', run: overlapping(1_300) },
      { what: 'it did not run and could not be told to stop', run: overlapping(null).stops('p', 150, 1_900) },
      {
        what: 'its process was killed',
        run: written('a').delivers('a', { at: 100, until: null }).kills('p', 200).delivers('a', again(1_200)),
      },
    ],
  },

  'a process does not deliver an event again that it delivered successfully': {
    broken: [
      { what: 'under another lock', run: redelivered('p', 2) },
      {
        what: 'another process was in between',
        run: refused().delivers('a', { at: 150, by: 'q', token: 2, settled: null }).delivers('a', {
          at: 300,
          token: 3,
        }),
      },
    ],
    kept: [
      { what: 'another process did', run: redelivered('q', 2) },
      {
        what: 'it had failed before',
        run: written('a', 'failOnce')
          .delivers('a', { at: 100, act: 'fail', settled: 'retry' })
          .delivers('a', { at: 300, token: 2, attempt: 2 }),
      },
      {
        what: 'so late that the process has forgotten the result',
        run: refused().stops('p', 200, 3_900).delivers('a', { at: 4_000, token: 2 }).hasHarmedLock(105),
      },
    ],
  },

  'every refused settlement is counted': {
    broken: [
      { what: 'its process counts none', run: redelivered('q', 2).says('p', 500, told(0)) },
      {
        what: 'its process does not count one that failed before, and that another process settled',
        run: refusedAfterFailure().delivers('a', again(300)).says('p', 500, told(0)),
      },
    ],
    kept: [
      { what: 'its process counts it', run: redelivered('q', 2).says('p', 500, told(1)) },
      { what: 'its process died before it reported a count', run: redelivered('q', 2) },
      {
        what: 'its process had claimed the event again',
        run: written('a')
          .delivers('a', { at: 100, settled: 'refused' })
          .settles('a', { by: 'p', at: 120, token: 2, outcome: 'done' })
          .says('p', 500, told(0)),
      },
      {
        what: 'the reply came after the engine stopped waiting',
        run: written('a')
          .delivers('a', { at: 100, settled: null })
          .says('p', 600, { kind: 'unanswered', since: 112, events: ['a'] })
          .says('p', 700, {
            kind: 'settled',
            since: 112,
            settlements: [{ event: 'a', token: 1, outcome: 'done', refused: true }],
          })
          .settles('a', { by: 'p', at: 710, token: 1, outcome: 'refused' })
          .says('p', 900, told(0)),
      },
      { what: 'the try that failed had been written', run: refusedAfterFailure().says('p', 500, told(0)) },
      {
        what: 'the try that failed had written a retry, and another process settled the event after it',
        run: written('a', 'failOnce')
          .delivers('a', { at: 100, act: 'fail', settled: null })
          .says('p', 115, { kind: 'unsettled', since: 112, events: ['a'] })
          .says('p', 116, { kind: 'cutOff', since: 112, what: 'settle failed' })
          .says('p', 201, {
            kind: 'settled',
            since: 200,
            settlements: [{ event: 'a', token: 1, outcome: 'retry', refused: true }],
          })
          .delivers('a', { at: 300, by: 'q', token: 3, attempt: 2 })
          .says('p', 500, told(0)),
      },
      {
        what: 'its process had claimed the event again, and retried it by that claim',
        run: written('a', 'failOnce')
          .delivers('a', { at: 100, act: 'fail', settled: null })
          .says('p', 113, {
            kind: 'settled',
            since: 112,
            settlements: [{ event: 'a', token: 1, outcome: 'retry', refused: true }],
          })
          .settles('a', { by: 'p', at: 120, token: 2, outcome: 'retry' })
          .delivers('a', { at: 300, by: 'q', token: 4, attempt: 2 })
          .says('p', 500, told(0)),
      },
      {
        what: 'the store answered after the process had closed',
        run: redelivered('q', 2).says('p', 110, told(0)),
      },
      {
        what: 'it failed before, and another process settled the event with the same token',
        run: refusedAfterFailure()
          .takesLock('p', 50, 'p/1')
          .hasHarmedLock(105)
          .delivers('a', { at: 150, by: 'q', token: 1 })
          .says('p', 500, told(0)),
      },
    ],
  },

  'connections that fall silent hold up a process for about a lease': {
    broken: [
      { what: 'it settled too late', run: silenced(2_500) },
      { what: 'it never settled again', run: silenced(null) },
      {
        what: 'no owner, for whom the server could keep a lock',
        run: silenced(2_500).keepsAbandoned(1_000),
      },
      {
        what: 'later than the server keeps the lock of the owner',
        run: silenced(3_500).inMode('partitioned').keepsAbandoned(1_000),
      },
      {
        what: 'too late, though another process had an outage',
        run: silenced(2_500).hasOutage(500, 600, 'worker3'),
      },
    ],
    kept: [
      { what: 'in time', run: silenced(1_500) },
      {
        what: 'the server kept the lock of the owner',
        run: silenced(2_500).inMode('partitioned').keepsAbandoned(1_000),
      },
      { what: 'it had another outage', run: silenced(2_500).hasOutage(500, 600, 'worker2') },
      { what: 'it did not run', run: silenced(2_500).stops('worker2.1', 300, 1_000) },
      {
        what: 'it had ended',
        run: silenced(null).says('driver', 1_000, {
          kind: 'exit',
          target: 'worker2.1',
          code: 0,
          signal: null,
          expected: true,
        }),
      },
    ],
  },

  'results are settled when the database replies again': {
    broken: [{ what: 'killed long after', run: killedAfterOutage({ backAt: 400, killedAt: 1_500 }) }],
    kept: [
      { what: 'killed right after', run: killedAfterOutage({ backAt: 400, killedAt: 700 }) },
      {
        what: 'killed before the next settlement had its time',
        run: killedAfterOutage({ backAt: 400, killedAt: 1_300 }),
      },
      {
        what: 'not killed before the next outage',
        run: killedAfterOutage({ backAt: 400, killedAt: 1_500, cutOffAt: 900 }),
      },
      {
        what: 'it had ended after that',
        run: killedAfterOutage({ backAt: 400, killedAt: 1_500, until: 1_450 }),
      },
    ],
  },

  'when one process is asked to end, another continues at once': {
    broken: [
      { what: 'much later', run: handedOver(3_100) },
      {
        what: 'much later, though the one that ends began some',
        run: handedOver(3_100).writes('b').delivers('b', { at: 1_100 }),
      },
    ],
    kept: [
      { what: 'soon', run: handedOver(1_500) },
      { what: 'later, because it was stopped', run: handedOver(3_100).stops('q', 1_000, 2_500) },
      {
        what: 'nothing was due',
        run: new ForgedRun().asksToEnd('p', 1_000).writes('a', { at: 3_000 }).delivers('a', { at: 4_000 }),
      },
    ],
  },

  'a process that is asked to end does so in time': {
    broken: [
      {
        what: 'it had to be killed',
        run: handedOver(1_500).says('driver', 9_000, { kind: 'stuck', target: 'p' }),
      },
    ],
    kept: [{ what: 'it did', run: handedOver(1_500) }],
  },
}

/** Cases about workers that share a table. */
export const sharingCases: ForgedCases = {
  'a worker takes no event that it has no listener for': {
    broken: [
      {
        what: 'and defers it',
        run: written('a', 'heardByOdd')
          .settles('a', { by: 'q', at: 50, token: 1, outcome: 'defer' })
          .delivers('a', { at: 100, token: 2 }),
      },
    ],
    kept: [
      {
        what: 'the one that has a listener takes it',
        run: written('a', 'heardByEven').delivers('a', { at: 100 }),
      },
      {
        what: 'it has a listener, which defers',
        run: written('a', 'heardByOdd')
          .delivers('a', { at: 50, act: 'defer', settled: 'defer' })
          .delivers('a', { at: 300, token: 2 }),
      },
    ],
  },

  'workers share slow work when nothing goes wrong': {
    broken: [
      { what: 'one has all', run: shared(60, 0) },
      { what: 'one has less than a fifth', run: shared(49, 11) },
    ],
    kept: [
      { what: 'one has a fifth', run: shared(48, 12) },
      { what: 'one was stopped', run: shared(60, 0).stops('q', 10, 20) },
      { what: 'the listeners are quick', run: shared(60, 0, 'succeed') },
      { what: 'there is too little to share', run: shared(30, 0) },
      { what: 'one at a time has all there is', run: shared(60, 0).inMode('singleNode') },
    ],
  },
}

function written(event: string, behaviour: Behaviour = 'succeed'): ForgedRun {
  return new ForgedRun().writes(event, { behaviour })
}

function again(at: number) {
  return { at, by: 'q', token: 2 }
}

function told(count: number) {
  return { kind: 'refusalsTold', count } as const
}

/** `p`, whose renewals fail, runs from 100 to 2,000, and `q` from 1,200. */
function overlapping(aborted: number | null): ForgedRun {
  return written('a')
    .delivers('a', { at: 100, until: 2_000, aborted, settled: 'refused' })
    .says('p', 1_100, { kind: 'cutOff', since: 200, what: 'renew failed' })
    .delivers('a', again(1_200))
}

/** `p` delivers it under a lock that is deleted meanwhile. */
function refused(): ForgedRun {
  return written('a')
    .takesLock('p', 50, 'p/1')
    .hasHarmedLock(105)
    .delivers('a', { at: 100, settled: 'refused' })
}

function redelivered(by: string, token: number): ForgedRun {
  return refused().delivers('a', { at: 300, by, token })
}

/** The first settlement of `p` fails, and the second is refused. */
function refusedAfterFailure(): ForgedRun {
  return written('a')
    .delivers('a', { at: 100, settled: null })
    .says('p', 115, { kind: 'unsettled', since: 112, events: ['a'] })
    .says('p', 116, { kind: 'cutOff', since: 112, what: 'settle failed' })
    .settles('a', { by: 'p', at: 200, token: 1, outcome: 'refused' })
}

/**
 * All connections of `worker2` fall silent at 200. An event that ended by 300 is settled so much later, if at
 * all.
 */
function silenced(afterMs: number | null): ForgedRun {
  const run = written('a')
    .says('driver', 200, { kind: 'outage', what: 'blackHole', since: 199, slot: 'worker2' })
    .delivers('a', { by: 'worker2.1', at: 150, until: 300, settled: null })
  return afterMs === null
    ? run
    : run.settles('a', { by: 'worker2.1', at: 300 + afterMs, token: 1, outcome: 'done' })
}

/**
 * `p` delivers it in an outage, and is killed some time after its database is back. Then `q` delivers it
 * again.
 */
function killedAfterOutage({
  backAt,
  killedAt,
  until = 250,
  cutOffAt,
}: {
  readonly backAt: number
  readonly killedAt: number
  readonly until?: number
  readonly cutOffAt?: number
}): ForgedRun {
  const run = written('a')
    .delivers('a', { at: 200, until, settled: null })
    .says('p', 350, { kind: 'cutOff', since: 300, what: 'settle failed' })
    .says('p', backAt, { kind: 'back' })
    .kills('p', killedAt)
    .delivers('a', again(killedAt + 200))
  return cutOffAt === undefined
    ? run
    : run.says('p', cutOffAt, { kind: 'cutOff', since: cutOffAt - 20, what: 'settle failed' })
}

/** Due when `p` is asked to end at 1,000, and begun by `q` then. */
function handedOver(at: number): ForgedRun {
  return written('a').asksToEnd('p', 1_000).delivers('a', { at, by: 'q' })
}

/** So many slow events of each of two workers. */
function shared(byFirst: number, bySecond: number, behaviour: Behaviour = 'slow'): ForgedRun {
  const run = new ForgedRun().hasWorkers('p', 'q')
  for (let n = 0; n < byFirst + bySecond; n++) {
    run.writes(`${n}`, { behaviour }).delivers(`${n}`, { at: 10 + n, by: n < byFirst ? 'p' : 'q' })
  }
  return run
}
