import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventStatus } from '../../../packages/sendoff/src/store/event-status.ts'
import { rules } from './checker.ts'
import { answerCases, sharingCases } from './forged/forged-answers.ts'
import { lockCases } from './forged/forged-locks.ts'
import { orderCases, ownershipCases } from './forged/forged-order.ts'
import { type ForgedCases, ForgedRun, forgedWallClock } from './forged/forged-run.ts'
import { plannedError, plannedReason } from '../processes/planned-listeners.ts'

/** For each rule: cases that break it, and similar ones that do not. */
const cases: ForgedCases = {
  'an event exists if and only if its transaction committed': {
    broken: [
      {
        what: 'a committed event is missing',
        run: sound().writes('b', { end: 'unrecorded' }).hasBusinessRow('b'),
      },
      { what: 'a rolled-back event exists', run: sound().writes('b', { end: 'rollback' }).hasRow('b') },
      {
        what: 'an undone part exists',
        run: sound()
          .writes('b', { undone: ['c'] })
          .hasRow('c'),
      },
      {
        what: 'committed business data is missing',
        run: sound().writes('b', { end: 'rollback' }).hasBusinessRow('b'),
      },
      {
        what: 'an event exists without its business data',
        run: sound().writes('b', { end: 'unrecorded' }).hasRow('b'),
      },
      {
        what: 'an event is missing after a commit whose answer was lost',
        run: sound().writes('b', { end: 'unknown' }).hasBusinessRow('b'),
      },
      {
        what: 'an event exists after a commit that was lost itself',
        run: delivered(sound().writes('b', { end: 'unknown' }).hasRow('b'), 'b'),
      },
      {
        what: 'everything exists although a rollback was planned and its answer was lost',
        run: delivered(
          sound().writes('b', { end: 'unknown', rollsBack: true }).hasRow('b').hasBusinessRow('b'),
          'b',
        ),
      },
    ],
    kept: [
      { what: 'a rolled-back event does not exist', run: sound().writes('b', { end: 'rollback' }) },
      {
        what: 'an undone part does not exist',
        run: delivered(sound().writes('b', { undone: ['c'] }), 'b'),
      },
      {
        what: 'its process died before it reported the end, and nothing exists',
        run: sound().writes('b', { end: 'unrecorded' }),
      },
      {
        what: 'the answer to the commit was lost, and everything exists and is delivered',
        run: delivered(sound().writes('b', { end: 'unknown' }).hasRow('b').hasBusinessRow('b'), 'b'),
      },
      {
        what: 'the commit itself was lost, and nothing exists',
        run: sound().writes('b', { end: 'unknown' }),
      },
      {
        what: 'the answer to a rollback was lost, and nothing exists',
        run: sound().writes('b', { end: 'unknown', rollsBack: true }),
      },
      {
        what: 'its process died before it reported the end, and everything exists',
        run: delivered(sound().writes('b', { end: 'unrecorded' }).hasRow('b').hasBusinessRow('b'), 'b'),
      },
    ],
  },

  'every row in the table was written by a process': {
    broken: [
      { what: 'a row that no process wrote', run: sound().hasRow('b') },
      { what: 'business data of a transaction without intent', run: sound().hasBusinessRow('b') },
    ],
    kept: [{ what: 'a written row', run: sound() }],
  },

  'a write with a used idempotency key returns the first event': {
    broken: [
      {
        what: 'a new id',
        run: delivered(sound().writes('b', { repeated: [{ expected: 'a', answered: 'c' }] }), 'b'),
      },
    ],
    kept: [
      {
        what: 'the first id',
        run: delivered(sound().writes('b', { repeated: [{ expected: 'a', answered: 'a' }] }), 'b'),
      },
    ],
  },

  'nothing is delivered that was not committed': {
    broken: [
      { what: 'a rolled-back event', run: delivered(sound().writes('b', { end: 'rollback' }), 'b') },
      {
        what: 'an event whose commit was lost',
        run: delivered(sound().writes('b', { end: 'unknown' }), 'b'),
      },
      { what: 'an event that no process wrote', run: delivered(sound(), 'b') },
    ],
    kept: [{ what: 'a committed event', run: sound() }],
  },

  'every committed event ends DONE, or DEAD for a stated reason': {
    broken: [
      { what: 'a pending event', run: written({}, { status: EventStatus.RETRY }) },
      {
        what: 'a pending event after a commit whose answer was lost',
        run: sound()
          .writes('b', { end: 'unknown' })
          .hasBusinessRow('b')
          .hasRow('b', { status: EventStatus.NEW }),
      },
      { what: 'a DONE event that was never delivered', run: written({}) },
      {
        what: 'a DONE event whose delivery never ended',
        run: written({}).delivers('b', { at: 10, until: null }),
      },
      { what: 'a DEAD event that should be DONE', run: written({}, dead(plannedError)) },
      { what: 'a DONE event that should be DEAD', run: delivered(written({ behaviour: 'giveUp' }), 'b') },
      {
        what: 'a poison event DEAD for another reason',
        run: written({ behaviour: 'poison' }, dead('Error: else')),
      },
      {
        what: 'a neighbour DEAD because of a poison event',
        run: written({}, dead('OutboxError: 5 processes in a row ended while they held this event')),
      },
    ],
    kept: [
      { what: 'an event given up as planned', run: written({ behaviour: 'giveUp' }, dead(plannedReason)) },
      {
        what: 'an event that always fails',
        run: written({ behaviour: 'alwaysFail' }, dead(`Error: ${plannedError}`)),
      },
      {
        what: 'an event without a listener',
        run: written({ behaviour: 'unheard' }, dead('UnroutableEventError: no')),
      },
      {
        what: 'a poison event DEAD for killing',
        run: written(
          { behaviour: 'poison' },
          dead('OutboxError: 5 processes in a row ended while they held this event'),
        ),
      },
    ],
  },

  'a delayed event does not start early': {
    broken: [{ what: 'early', run: written({ notBefore: 500 }).delivers('b', { at: 300 }) }],
    kept: [{ what: 'in time', run: written({ notBefore: 500 }).delivers('b', { at: 501 }) }],
  },

  'attempts are bounded': {
    broken: [
      { what: 'more attempts than allowed in the row', run: delivered(written({}, { attempts: 5 }), 'b') },
      {
        what: 'more attempts than allowed in a delivery',
        run: written({}).delivers('b', { at: 10, attempt: 5 }),
      },
      { what: 'more killed processes than allowed', run: poisoned(6) },
    ],
    kept: [
      { what: 'the last attempt', run: written({}, { attempts: 4 }).delivers('b', { at: 10, attempt: 4 }) },
      { what: 'as many killed processes as allowed', run: poisoned(5) },
    ],
  },

  'no duplicate without a fault': {
    broken: [
      { what: 'twice by two processes', run: twice() },
      { what: 'twice by the same process', run: twice({ second: 'p' }) },
      { what: 'another process was killed', run: twice().kills('r', 150) },
      { what: 'its first process was killed afterwards', run: twice().kills('p', 300) },
      { what: 'its first process was stopped before', run: twice().stops('p', 10, 90) },
      {
        what: 'its first process was without its database more than a lease before',
        run: written({})
          .says('p', 90, { kind: 'cutOff', since: 80, what: 'renew failed' })
          .delivers('b', { at: 1_200, settled: null })
          .delivers('b', { at: 1_300, by: 'q', token: 2 }),
      },
      {
        what: 'there was an outage, and its first process had an answer to everything it asked',
        run: twice().hasOutage(90, 190),
      },
      {
        what: 'the lock was deleted before its first process got it',
        run: twice().hasHarmedLock(80).takesLock('p', 90, 'p/1'),
      },
      {
        what: 'its first process was restarted',
        run: twice().says('driver', 150, { kind: 'fault', fault: 'restart', target: 'p' }),
      },
    ],
    kept: [
      { what: 'its first process was killed', run: twice().kills('p', 150) },
      { what: 'its first process was stopped', run: twice().stops('p', 105, 150) },
      {
        what: 'the lock of its first process was deleted',
        run: twice().takesLock('p', 90, 'p/1').hasHarmedLock(105),
      },
      {
        what: 'its first process had not been able to renew its lease shortly before',
        run: twice().says('p', 50, { kind: 'cutOff', since: 40, what: 'renew failed' }),
      },
      {
        what: 'its first process was without its database',
        run: twice().says('p', 150, { kind: 'cutOff', since: 105, what: 'renew' }),
      },
      {
        what: 'it failed as planned',
        run: written({ behaviour: 'failOnce' })
          .delivers('b', { at: 100, act: 'fail', settled: 'retry' })
          .delivers('b', { at: 200, by: 'q', token: 3, attempt: 2 }),
      },
      {
        what: 'it was deferred as planned',
        run: written({ behaviour: 'deferAtFirst' })
          .delivers('b', { at: 100, act: 'defer', settled: 'defer' })
          .delivers('b', { at: 200, token: 3 }),
      },
    ],
  },

  'an event has one holder at a time': {
    broken: [
      { what: 'both run at once', run: overlapping() },
      { what: 'both run at once, although the first fails in the end', run: overlapping('fail') },
      { what: 'the next one does not wait for a hanging listener', run: overlapping('hang', 500) },
    ],
    kept: [
      { what: 'the first was stopped', run: overlapping().stops('p', 110, 300) },
      { what: 'the first was killed', run: overlapping().kills('p', 110) },
      { what: 'the first was given up', run: overlapping('hang', 800) },
      {
        what: 'the second was stopped between its claim and its start',
        run: written({})
          .stops('q', 50, 195)
          .delivers('b', { at: 100, until: 400, token: 3 })
          .delivers('b', { at: 200, by: 'q', token: 1, settled: 'refused' }),
      },
    ],
  },

  'an event that is settled for good is not delivered again': {
    broken: [
      {
        what: 'its process was killed, but had settled it',
        run: twice({ settled: 'done' }).kills('p', 150),
      },
    ],
    kept: [
      { what: 'its process was killed before it could settle', run: twice().kills('p', 150) },
      { what: 'its settlement was refused', run: twice({ settled: 'refused' }).stops('p', 105, 150) },
    ],
  },

  'an event is settled for good once': {
    broken: [
      {
        what: 'two settlements are accepted',
        run: twice({ settled: 'done' }).stops('p', 105, 150),
      },
    ],
    kept: [
      {
        what: 'a failure and then a success are accepted',
        run: written({ behaviour: 'failOnce' })
          .delivers('b', { at: 100, act: 'fail', settled: 'retry' })
          .delivers('b', { at: 200, token: 3, attempt: 2 }),
      },
      { what: 'the second one is refused', run: twice({ settled: 'refused' }).stops('p', 105, 150) },
    ],
  },

  'the settlement of a stale holder is refused': {
    broken: [
      { what: 'a lower token is accepted', run: stale({ outcome: 'done', secondToken: 3 }) },
      {
        what: 'the same token is accepted from both',
        run: stale({ outcome: 'done', secondToken: 1 }),
      },
      {
        what: 'the same token is accepted from an earlier epoch, without a delivery',
        run: forgottenHold({ settledEpoch: 2 }),
      },
    ],
    kept: [
      { what: 'it is refused', run: stale({ outcome: 'refused', secondToken: 3 }) },
      {
        what: 'a crash forgot the hold of the epoch between, and it owns the next and knows its result',
        run: forgottenHold({ settledEpoch: 4 }),
      },
      {
        what: 'it had claimed the event again',
        run: stale({ outcome: 'done', secondToken: 3, settledToken: 4 }),
      },
      {
        what: 'it took the lock again after that, and knows its result',
        run: written({})
          .takesLock('p', 50, 'p/1')
          .hasHarmedLock(105)
          .delivers('b', { at: 100, settled: 'refused' })
          .delivers('b', { at: 300, by: 'q', token: 1, until: null })
          .kills('q', 350)
          .takesLock('p', 400, 'p/2')
          .says('p', 411, {
            kind: 'settled',
            since: 410,
            settlements: [{ event: 'b', token: 1, outcome: 'done', refused: false, underLock: true }],
          }),
      },
    ],
  },

  'a settlement that failed is repeated': {
    broken: [
      { what: 'it is forgotten', run: unsettled() },
      {
        what: 'it fails again, and is then forgotten',
        run: unsettled()
          .settles('b', { by: 'p', at: 115, token: 1, outcome: 'done' })
          .says('p', 130, { kind: 'unsettled', since: 120, events: ['b'] }),
      },
      {
        what: 'another process settles it',
        run: unsettled().settles('b', { by: 'q', at: 120, token: 2, outcome: 'done' }),
      },
    ],
    kept: [
      {
        what: 'it is settled',
        run: unsettled().settles('b', { by: 'p', at: 120, token: 1, outcome: 'done' }),
      },
      {
        what: 'it was settled the first time',
        run: unsettled().settles('b', { by: 'p', at: 120, token: 1, outcome: 'refused' }),
      },
      { what: 'its process was killed', run: unsettled().kills('p', 130) },
      {
        what: 'the error came after the repetition',
        run: written({})
          .delivers('b', { at: 100, settled: null })
          .settles('b', { by: 'p', at: 120, token: 1, outcome: 'done' })
          .says('p', 500, { kind: 'unsettled', since: 111, events: ['b'] }),
      },
    ],
  },

  'a later delivery has a higher fencing token': {
    broken: [
      { what: 'the same token', run: twice({ secondToken: 1 }).kills('p', 150) },
      { what: 'a lower token', run: twice({ secondToken: 0 }).kills('p', 150) },
      {
        what: 'the same token in the same epoch, through a crash of the server',
        run: twice({ secondToken: 1, epochs: [3, 3] })
          .kills('p', 150)
          .hasOutage(110, 140),
      },
      {
        what: 'the same token in the next epoch, without a crash of the server',
        run: twice({ secondToken: 1, epochs: [3, 4] })
          .kills('p', 150)
          .hasOutage(110, 140, 'q'),
      },
      {
        what: 'the same token in the next epoch, after a crash of the server before its process got the partition',
        run: twice({ secondToken: 1, epochs: [1, 2] })
          .owns('p', { from: -950 })
          .kills('p', 150)
          .hasOutage(-1_500, -1_200),
      },
      {
        what: 'a lower token after the lock was deleted',
        run: twice({ secondToken: 0 }).takesLock('p', 90, 'p/1').hasHarmedLock(105),
      },
    ],
    kept: [
      { what: 'a higher token', run: twice().kills('p', 150) },
      {
        what: 'the same token in the next epoch, after a crash of the server forgot the first one',
        run: twice({ secondToken: 1, epochs: [3, 4] })
          .kills('p', 150)
          .hasOutage(110, 140),
      },
      {
        what: 'the same token in the next epoch, after a crash forgot the first one while it was queued for long',
        run: twice({ secondToken: 1, epochs: [1, 2] })
          .owns('p', { from: -2_000 })
          .kills('p', 150)
          .hasOutage(-1_500, -1_200),
      },
      {
        what: 'the same token, because the lock that recorded the first one was deleted',
        run: twice({ secondToken: 1 }).takesLock('p', 90, 'p/1').hasHarmedLock(105),
      },
      {
        what: 'a lower token of a process that was stopped before it began',
        run: twice({ secondToken: 0, settled: 'done', secondSettled: 'refused' }).stops('q', 50, 195),
      },
    ],
  },

  'events that a killed process held are delivered again within the lease': {
    broken: [
      { what: 'too late', run: takenOver(2_000) },
      {
        what: 'too late even with the fault that came in between',
        run: takenOver(4_000).stops('r', 1_000, 1_900),
      },
    ],
    kept: [
      { what: 'in time', run: takenOver(1_600) },
      { what: 'later, because of an outage', run: takenOver(2_500).hasOutage(1_000, 1_900) },
      { what: 'later, because the next one was stopped', run: takenOver(2_500).stops('r', 1_000, 1_900) },
      {
        what: 'later, because a listener had the only worker',
        run: takenOver(2_000)
          .writes('c', { behaviour: 'hangOnce' })
          .delivers('c', { by: 'q', at: 1_300, until: 1_900, act: 'hang', settled: 'retry' })
          .delivers('c', { by: 'q', at: 2_160, attempt: 2, token: 2 }),
      },
      {
        what: 'later, because it had failed and was not held',
        run: written({ behaviour: 'failOnce' })
          .delivers('b', { at: 100, act: 'fail', settled: 'retry' })
          .kills('p', 150)
          .delivers('b', { at: 2_600, by: 'q', token: 3, attempt: 2 }),
      },
    ],
  },

  'events that were due in an outage start within seconds of its end': {
    broken: [
      { what: 'too late', run: outlived(3_100) },
      {
        what: 'too late, though one process had another outage',
        run: outlived(3_100).hasOutage(2_000, 3_000, 'p'),
      },
      {
        what: 'too late, though another process was stopped',
        run: outlived(3_100).stops('q', 2_000, 3_500),
      },
      { what: 'too late, though another process was killed', run: outlived(3_100).kills('q', 2_000) },
      { what: 'too late even with the next outage', run: outlived(3_600).hasOutage(2_000, 2_500) },
      {
        what: 'a delayed event that fell due meanwhile',
        run: written({ notBefore: 900 }).hasOutage(500, 1_000).delivers('b', { at: 4_100 }),
      },
      {
        what: 'too late after its destination could be reached again',
        run: twoWays().hasOutage(500, 1_000).delivers('b/south', { at: 6_100 }),
      },
      {
        what: 'too late, as its destination could be reached, and another could not',
        run: written({}).cannotReachSouth(1_000, 3_000).hasOutage(500, 1_000).delivers('b', { at: 4_100 }),
      },
    ],
    kept: [
      { what: 'in time', run: outlived(2_900) },
      { what: 'later, because the next outage came', run: outlived(3_400).hasOutage(2_000, 2_500) },
      {
        what: 'later, because a listener ended its process',
        run: outlived(3_900).says('q', 2_000, { kind: 'fault', fault: 'kill', target: 'q' }),
      },
      {
        what: 'a delayed event that fell due later',
        run: written({ notBefore: 2_000 }).hasOutage(500, 1_000).delivers('b', { at: 4_100 }),
      },
      {
        what: 'an event that was written later',
        run: written({ at: 2_000 }).hasOutage(500, 1_000).delivers('b', { at: 4_100 }),
      },
      {
        what: 'its destination could not be reached meanwhile',
        run: twoWays().hasOutage(500, 1_000).delivers('b/south', { at: 5_900 }),
      },
      {
        what: 'an event that had started before',
        run: written({ behaviour: 'failOnce' })
          .delivers('b', { at: 100, act: 'fail', settled: 'retry' })
          .hasOutage(500, 1_000)
          .delivers('b', { at: 3_900, token: 3, attempt: 2 }),
      },
    ],
  },

  'events that were due at the last fault are delivered within seconds of it': {
    broken: [
      {
        what: 'after an outage of one process',
        run: written({}).hasOutage(500, 1_000, 'p').delivers('b', { at: 4_100 }),
      },
      {
        what: 'after a process was stopped',
        run: written({}).stops('p', 500, 1_000).delivers('b', { at: 4_100 }),
      },
      {
        what: 'after a process was killed',
        run: written({}).kills('q', 1_000).delivers('b', { at: 4_100 }),
      },
      {
        what: 'its destination caught up without it',
        run: twoWays()
          .writes('c/south')
          .kills('q', 1_000)
          .delivers('c/south', { at: 3_100, until: 5_000 })
          .delivers('b/south', { at: 8_100 }),
      },
      {
        what: 'listeners of its destination ran for events that were written later',
        run: twoWays()
          .writes('d/south', { at: 3_050 })
          .kills('q', 1_000)
          .delivers('d/south', { at: 3_100, until: 5_000 })
          .delivers('b/south', { at: 7_000 }),
      },
      {
        what: 'the second of two deliveries',
        run: written({ behaviour: 'failOnce' })
          .delivers('b', { at: 100, act: 'fail', settled: 'retry' })
          .kills('q', 1_000)
          .delivers('b', { at: 4_100, token: 3, attempt: 2 }),
      },
    ],
    kept: [
      { what: 'in time', run: written({}).hasOutage(500, 1_000, 'p').delivers('b', { at: 3_900 }) },
      {
        what: 'a later fault',
        run: written({}).kills('q', 1_000).kills('r', 1_500).delivers('b', { at: 4_100 }),
      },
      {
        what: 'written after it',
        run: written({ at: 2_000 }).kills('q', 1_000).delivers('b', { at: 4_100 }),
      },
      {
        what: 'while its destination catches up',
        run: twoWays()
          .writes('c/south')
          .kills('q', 1_000)
          .delivers('c/south', { at: 3_100, until: 5_000 })
          .delivers('b/south', { at: 7_000 }),
      },
      { what: 'late without any fault', run: written({}).delivers('b', { at: 9_000 }) },
    ],
  },

  "rows are stamped by the database's clock": {
    broken: [
      { what: 'written an hour late', run: delivered(written({}, { createdAt: hoursAfter(1) }), 'b') },
      { what: 'written an hour early', run: delivered(written({}, { createdAt: hoursAfter(-1) }), 'b') },
      { what: 'due an hour late', run: delivered(written({}, { availableAt: hoursAfter(1) }), 'b') },
      { what: 'done an hour early', run: delivered(written({}, { doneAt: hoursAfter(-1) }), 'b') },
      { what: 'leased for an hour more', run: delivered(written({}, { lockedUntil: hoursAfter(1) }), 'b') },
    ],
    kept: [
      {
        what: 'an event that occurred an hour ago',
        run: delivered(written({}, { occurredAt: hoursAfter(-1) }), 'b'),
      },
    ],
  },

  ...orderCases,
  ...ownershipCases,
  ...lockCases,
  ...answerCases,
  ...sharingCases,

  'no process ends on its own': {
    broken: [{ what: 'it crashed', run: sound().says('driver', 50, exit(1, false)) }],
    kept: [{ what: 'it was asked to', run: sound().says('driver', 50, exit(0, true)) }],
  },
}

describe('the checker of fault runs', () => {
  it('has cases for each of its rules', () => {
    deepEqual(Object.keys(cases).sort(), rules.map(({ name }) => name).sort())
  })

  it('finds nothing in a sound run', () => {
    deepEqual(sound().brokenRules(), [])
  })

  for (const [rule, { broken, kept }] of Object.entries(cases)) {
    for (const { what, run } of broken) {
      it(`reports against "${rule}": ${what}`, () => {
        deepEqual(
          run.brokenRules().filter((name) => name === rule),
          [rule],
        )
      })
    }
    for (const { what, run } of kept) {
      it(`finds nothing against "${rule}": ${what}`, () => {
        deepEqual(run.brokenRules(), [])
      })
    }
  }
})

function sound(): ForgedRun {
  return new ForgedRun().writes('a').delivers('a', { at: 10 })
}

/** A sound run with one more event `b`, not delivered yet. */
function written(
  ...[write, row]: [Parameters<ForgedRun['writes']>[1], Parameters<ForgedRun['writes']>[2]?]
): ForgedRun {
  return sound().writes('b', write, row)
}

/** A sound run with one more event, not delivered yet, for a destination that cannot be reached until 3,000. */
function twoWays(): ForgedRun {
  return sound().cannotReachSouth(1_000, 3_000).writes('b/south')
}

function delivered(run: ForgedRun, id: string): ForgedRun {
  return run.delivers(id, { at: 20 })
}

function dead(lastError: string) {
  return { status: EventStatus.DEAD, lastError }
}

function exit(code: number, expected: boolean) {
  return { kind: 'exit', target: 'p', code, signal: null, expected } as const
}

/** `p` delivers at 100 and another process at 200, by default without a settlement in between. */
function twice({
  second = 'q',
  secondToken = 2,
  settled = null as string | null,
  secondSettled = 'done',
  epochs = [] as readonly number[],
} = {}): ForgedRun {
  const [firstEpoch, secondEpoch] = epochs.map((epoch) => ({ epoch }))
  return written({})
    .delivers('b', { at: 100, settled, ...firstEpoch })
    .delivers('b', { at: 200, by: second, token: secondToken, settled: secondSettled, ...secondEpoch })
}

/** `p` begins at 100, and `q` at `again`, while `p` is still running. */
function overlapping(act: 'succeed' | 'fail' | 'hang' = 'succeed', again = 200): ForgedRun {
  return written({})
    .delivers('b', { at: 100, until: 2_000, act, settled: 'refused' })
    .delivers('b', { at: again, by: 'q', token: 2 })
}

/** `p` holds it and is stopped, `q` takes it and is killed, then `p` settles it. */
function stale({
  outcome,
  secondToken,
  settledToken = 1,
}: {
  readonly outcome: string
  readonly secondToken: number
  readonly settledToken?: number
}): ForgedRun {
  return written({})
    .delivers('b', { at: 100, until: 1_500, settled: null })
    .stops('p', 110, 1_350)
    .delivers('b', { at: 1_200, by: 'q', token: secondToken, until: null })
    .kills('q', 1_300)
    .settles('b', { by: 'p', at: 1_501, token: settledToken, outcome })
}

/**
 * `p` delivers it at epoch 2, and `q` at epoch 3 with a higher token. A crash of the server ends the hold of `q` as if
 * it had never been. Then `p` settles it with that token, at some epoch.
 */
function forgottenHold({ settledEpoch }: { readonly settledEpoch: number }): ForgedRun {
  return written({})
    .delivers('b', { at: 100, epoch: 2, settled: 'refused' })
    .stops('p', 105, 1_100)
    .delivers('b', { at: 1_000, by: 'q', token: 2, epoch: 3, settled: null })
    .kills('q', 1_050)
    .hasOutage(1_020, 1_100)
    .settles('b', { by: 'p', at: 1_200, token: 2, outcome: 'done', epoch: settledEpoch })
}

/** `p` delivers at 100, and its settlement fails. */
function unsettled(): ForgedRun {
  return written({})
    .delivers('b', { at: 100, settled: null })
    .says('p', 114, { kind: 'unsettled', since: 111, events: ['b'] })
}

function takenOver(afterMs: number): ForgedRun {
  return written({})
    .delivers('b', { at: 100, until: null })
    .kills('p', 150)
    .delivers('b', { at: 150 + afterMs, by: 'q', token: 2 })
}

/** Due in an outage of all processes that ends at 1,000, and started so long after that. */
function outlived(afterMs: number): ForgedRun {
  return written({})
    .hasOutage(500, 1_000)
    .delivers('b', { at: 1_000 + afterMs })
}

function hoursAfter(hours: number): number {
  return forgedWallClock.from + hours * 3_600_000
}

function poisoned(times: number): ForgedRun {
  const run = written(
    { behaviour: 'poison' },
    dead('OutboxError: 5 processes in a row ended while they held this event'),
  )
  for (let n = 0; n < times; n++) {
    run
      .delivers('b', { at: 100 + n * 1_000, by: `p${n}`, until: null, act: 'killProcess', token: n })
      .kills(`p${n}`, 101 + n * 1_000)
  }
  return run
}
