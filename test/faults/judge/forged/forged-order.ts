import { type ForgedCases, ForgedRun } from './forged-run.ts'
import type { Act } from '../../history/history-record.ts'

/** Cases about order. */
export const orderCases: ForgedCases = {
  'an event has the ordering key that it was written with': {
    broken: [
      { what: 'another one', run: written().writes('c', { key: 'k' }, { seq: 3, orderingKey: 'l' }) },
      { what: 'a key that no writer gave it', run: written().writes('c', {}, { seq: 3, orderingKey: 'k' }) },
      { what: 'none', run: written().writes('c', { key: 'k' }, { seq: 3, orderingKey: null }) },
    ],
    kept: [{ what: 'its own', run: inOrder() }],
  },

  'write order is commit order': {
    broken: [
      {
        what: 'a transaction wrote before the one in front had committed',
        run: delivered(turns({ secondWroteAt: 5, firstCommit: 8 })),
      },
      {
        what: 'the same for all events, where there is one order',
        run: delivered(turns({ secondWroteAt: 5, firstCommit: 8, secondKey: 'l' })).inMode('ordered'),
      },
      {
        what: 'another transaction wrote in between',
        run: delivered(
          new ForgedRun()
            .inMode('partitioned')
            .writes('b', { key: 'k', wroteAt: 20, at: 22 }, { seq: 2 })
            .hasRow('a', { seq: 1, orderingKey: 'k' })
            .hasRow('c', { seq: 3, orderingKey: 'k' })
            .says('writer', 10, {
              kind: 'intent',
              tx: 'tx of a',
              rollsBack: false,
              events: [
                { id: 'a', behaviour: 'succeed', key: 'k', wroteAt: 1 },
                { id: 'c', behaviour: 'succeed', key: 'k', wroteAt: 2 },
              ],
              undone: [],
              repeated: [],
            })
            .hasBusinessRow('a'),
        ).delivers('c', { at: 300 }),
      },
    ],
    kept: [
      { what: 'one after the other', run: delivered(turns({ secondWroteAt: 9, firstCommit: 8 })) },
      {
        what: 'both at once for different keys',
        run: delivered(turns({ secondWroteAt: 5, firstCommit: 8, secondKey: 'l' })),
      },
      {
        what: 'both at once where no order is kept',
        run: delivered(turns({ secondWroteAt: 5, firstCommit: 8 })).inMode('multiNode'),
      },
    ],
  },

  'first deliveries are in write order': {
    broken: [
      { what: 'the second one first', run: reversed() },
      { what: 'the second one first, though a process was killed', run: reversed().kills('q', 50) },
      {
        what: 'the second one first, of another key, where there is one order',
        run: reversed({ secondKey: 'l' }).inMode('ordered'),
      },
      {
        what: 'the second one before a stopped process tries the first',
        run: reversed().stops('p', 90, 1_000),
      },
    ],
    kept: [
      { what: 'in order', run: inOrder() },
      { what: 'of different keys', run: reversed({ secondKey: 'l' }) },
      { what: 'where no order is kept', run: reversed().inMode('multiNode') },
      {
        what: 'the first one was written for later',
        run: written({ notBefore: 200 }).delivers('b', { at: 100 }).delivers('a', { at: 210 }),
      },
      {
        what: 'the first one comes again, late, by a process that was stopped before it began',
        run: written()
          .stops('q', 50, 295)
          .delivers('a', { at: 100, token: 2 })
          .delivers('b', { at: 200 })
          .delivers('a', { at: 300, by: 'q', token: 1, settled: 'refused' }),
      },
    ],
  },

  'no event starts before the one in front of it is settled': {
    broken: [
      {
        what: 'the first one is at work',
        run: written().delivers('a', { at: 100, until: 300 }).delivers('b', { at: 200 }),
      },
      {
        what: 'the first one waits for its second attempt',
        run: failedFirst({ secondAt: 250 }),
      },
      {
        what: 'the first one was done, and the store had not been asked yet',
        run: written().delivers('a', { at: 100 }).delivers('b', { at: 111 }),
      },
      {
        what: 'its own process had asked the store, which had not replied',
        run: slowlySettled().delivers('b', { at: 200 }),
      },
      {
        what: 'the settlement of the first one was refused',
        run: written()
          .delivers('a', { at: 100, settled: 'refused' })
          .delivers('b', { at: 200 })
          .delivers('a', { at: 300, by: 'q', token: 2 })
          .stops('p', 105, 108),
      },
      {
        what: 'the first one had been written for later and was at work',
        run: written({ notBefore: 50 }).delivers('a', { at: 100, until: 300 }).delivers('b', { at: 200 }),
      },
      {
        what: 'the process of the first one was killed, and it had to come again',
        run: unheard()
          .kills('p', 150)
          .delivers('b', { at: 200, by: 'q' })
          .delivers('a', { at: 300, by: 'q', token: 2 }),
      },
      {
        what: 'the process of the first one was killed before its listener ended',
        run: written()
          .delivers('a', { at: 100, until: null })
          .kills('p', 150)
          .delivers('b', { at: 200, by: 'q' }),
      },
      {
        what: 'the second one by a stopped process whose settlement is accepted',
        run: overtaken({ settled: 'done' }),
      },
      {
        what: 'another key, where there is one order',
        run: written({ secondKey: 'l' })
          .inMode('ordered')
          .delivers('a', { at: 100, until: 300 })
          .delivers('b', { at: 200 }),
      },
    ],
    kept: [
      { what: 'one after the other', run: inOrder() },
      { what: 'after the second attempt', run: failedFirst({ secondAt: 350 }) },
      {
        what: 'another key',
        run: written({ secondKey: 'l' }).delivers('a', { at: 100, until: 300 }).delivers('b', { at: 200 }),
      },
      {
        what: 'one that was written for later, behind one that waits for its second attempt',
        run: written({ notBefore: 150 })
          .delivers('b', { at: 100, act: 'fail', settled: 'retry' })
          .delivers('a', { at: 160 })
          .delivers('b', { at: 200, attempt: 2, token: 2 }),
      },
      {
        what: 'the process of the first one was killed when it had asked the store',
        run: unheard().kills('p', 150).delivers('b', { at: 200, by: 'q' }),
      },
      {
        what: 'the process of the first one was without its database, and killed before it could ask again',
        run: unheard()
          .says('p', 180, { kind: 'cutOff', since: 112, what: 'settle still open' })
          .delivers('b', { at: 200, by: 'q' })
          .kills('p', 250),
      },
      {
        what: 'the process of the first one was stopped before the reply came',
        run: written()
          .stops('p', 112, 1_300)
          .delivers('a', { at: 100, settled: null })
          .says('p', 1_310, {
            kind: 'settled',
            since: 111,
            settlements: [{ event: 'a', token: 1, outcome: 'done', refused: false }],
          })
          .delivers('b', { at: 1_200, by: 'q' }),
      },
      {
        what: 'another process, while the process of the first one waits for the reply',
        run: slowlySettled().delivers('b', { at: 200, by: 'q' }),
      },
      {
        what: 'the answer to the settlement of the first one was lost',
        run: unheard()
          .says('p', 150, { kind: 'unsettled', since: 112, events: ['a'] })
          .delivers('b', { at: 200, by: 'q' })
          .settles('a', { by: 'p', at: 210, token: 1, outcome: 'refused' }),
      },
      {
        what: 'the second one by a stopped process whose settlement is refused',
        run: overtaken({ settled: 'refused' }),
      },
    ],
  },

  'listeners of one lane run one after another': {
    broken: [
      { what: 'both at once', run: beside() },
      {
        what: 'the next one does not wait for a hanging listener',
        run: beside({ act: 'hang', secondAt: 500 }),
      },
      { what: 'another process was killed', run: beside().kills('r', 150) },
      {
        what: 'the later one runs first',
        run: written({ notBefore: 150 }).delivers('b', { at: 100, until: 300 }).delivers('a', { at: 200 }),
      },
    ],
    kept: [
      { what: 'one after the other', run: inOrder() },
      {
        what: 'a hanging listener that was given up, and whose event was delivered again',
        run: written({ behaviour: 'hangOnce' })
          .delivers('a', { at: 100, until: 2_500, act: 'hang', settled: null })
          .settles('a', { by: 'p', at: 701, token: 1, outcome: 'retry' })
          .delivers('a', { at: 800, token: 2, attempt: 2 })
          .delivers('b', { at: 900 }),
      },
      {
        what: 'the process of the first one was stopped, and it has come again meanwhile',
        run: written()
          .stops('p', 110, 1_500)
          .delivers('a', { at: 100, until: 1_505, settled: 'refused' })
          .delivers('a', { at: 1_200, by: 'q', token: 2 })
          .delivers('b', { at: 1_300, by: 'q' }),
      },
    ],
  },

  'the epoch of a key never falls': {
    broken: [
      {
        what: 'a lower one',
        run: written().delivers('a', { at: 100, epoch: 2 }).delivers('b', { at: 200, by: 'q', epoch: 1 }),
      },
      {
        what: 'a lower one of a stopped process whose settlement is accepted',
        run: written()
          .stops('q', 50, 195)
          .delivers('a', { at: 100, epoch: 2 })
          .delivers('b', { at: 200, by: 'q', epoch: 1 }),
      },
    ],
    kept: [
      {
        what: 'a higher one',
        run: written().delivers('a', { at: 100, epoch: 1 }).delivers('b', { at: 200, by: 'q', epoch: 2 }),
      },
      {
        what: 'a claimed event, which has none',
        run: written().delivers('a', { at: 100, epoch: 2 }).delivers('b', { at: 200 }),
      },
      {
        what: 'a lower one of a process that was stopped before it began',
        run: overtaken({ settled: 'refused', epoch: 1 }),
      },
    ],
  },
}

/** Cases about owners of partitions. */
export const ownershipCases: ForgedCases = {
  'an epoch of a partition is given to one owner': {
    broken: [
      {
        what: 'two have it',
        run: inOrder().owns('p', { from: 10, until: 20 }).owns('q', { from: 30 }),
      },
    ],
    kept: [
      {
        what: 'one epoch after the other',
        run: inOrder().owns('p', { from: 10, until: 20 }).owns('q', { from: 30, epoch: 2 }),
      },
      {
        what: 'of different partitions',
        run: inOrder().owns('p', { from: 10 }).owns('q', { from: 30, partition: 8 }),
      },
    ],
  },

  'epochs rise by one with each change of owner': {
    broken: [
      {
        what: 'one is left out',
        run: inOrder().owns('p', { from: 10, until: 20 }).owns('q', { from: 30, epoch: 3 }),
      },
      {
        what: 'a lower one comes later',
        run: inOrder().owns('p', { from: 30, epoch: 1 }).owns('q', { from: 10, until: 20, epoch: 2 }),
      },
    ],
    kept: [
      {
        what: 'one is left out whose reply was lost',
        run: inOrder()
          .owns('p', { from: 10, until: 20 })
          .says('r', 250, { kind: 'notGained', since: 25, partitions: [7] })
          .owns('q', { from: 30, epoch: 3 }),
      },
      {
        what: 'its owner was stopped before the reply came',
        run: inOrder()
          .says('p', 2_000, {
            kind: 'gained',
            since: 10,
            token: 'p',
            partitions: [{ partition: 7, epoch: 1 }],
          })
          .stops('p', 11, 1_999)
          .says('p', 2_001, { kind: 'givenUp', token: 'p' })
          .owns('q', { from: 1_030, epoch: 2 }),
      },
      {
        what: 'one is left out that a killed process got',
        run: inOrder().owns('p', { from: 10, until: 20 }).kills('r', 25).owns('q', { from: 30, epoch: 3 }),
      },
    ],
  },

  'a partition has one owner at a time': {
    broken: [
      {
        what: 'it was not given up',
        run: inOrder().owns('p', { from: 10 }).owns('q', { from: 30, epoch: 2 }),
      },
      {
        what: 'it was given up too late',
        run: inOrder().owns('p', { from: 10, until: 31 }).owns('q', { from: 30, epoch: 2 }),
      },
      {
        what: 'its owner was killed later',
        run: inOrder().owns('p', { from: 10 }).owns('q', { from: 30, epoch: 2 }).kills('p', 40),
      },
      {
        what: 'its owner ended later',
        run: inOrder()
          .owns('p', { from: 10 })
          .owns('q', { from: 30, epoch: 2 })
          .says('driver', 40, ended('p')),
      },
      {
        what: 'its owner was stopped more than a lease before',
        run: inOrder().owns('p', { from: 10 }).stops('p', 100, 200).owns('q', { from: 1_300, epoch: 2 }),
      },
      {
        what: 'its owner had closed its outbox later',
        run: inOrder()
          .owns('p', { from: 10 })
          .says('p', 40, { kind: 'refusalsTold', count: 0 })
          .owns('q', { from: 30, epoch: 2 }),
      },
      {
        what: 'its owner lost its lock, and began an event under it after that',
        run: lostLock().delivers('c', { at: 50, epoch: 1 }),
      },
      {
        what: 'its owner lost its lock, and settled an event under it after that',
        run: lostLock()
          .delivers('c', { at: 25, until: 40, epoch: 1, settled: null })
          .settles('c', { by: 'p', at: 42, token: 1, outcome: 'done', epoch: 1 }),
      },
      {
        what: 'its owner takes it again with the same token',
        run: inOrder().owns('p', { from: 10 }).owns('p', { from: 30, epoch: 2 }),
      },
    ],
    kept: [
      {
        what: 'it was given up',
        run: inOrder().owns('p', { from: 10, until: 20 }).owns('q', { from: 30, epoch: 2 }),
      },
      {
        what: 'its owner gave up everything',
        run: inOrder()
          .owns('p', { from: 10 })
          .says('p', 20, { kind: 'givenUp', token: 'p' })
          .owns('q', { from: 30, epoch: 2 }),
      },
      {
        what: 'its owner was killed',
        run: inOrder().owns('p', { from: 10 }).kills('p', 20).owns('q', { from: 1_030, epoch: 2 }),
      },
      {
        what: 'its owner ended without an answer',
        run: inOrder()
          .owns('p', { from: 10 })
          .says('driver', 20, ended('p'))
          .owns('q', { from: 1_030, epoch: 2 }),
      },
      {
        what: 'its owner had closed its outbox, and a listener went on',
        run: inOrder()
          .owns('p', { from: 10 })
          .says('p', 20, { kind: 'refusalsTold', count: 0 })
          .owns('q', { from: 1_030, epoch: 2 }),
      },
      {
        what: 'its owner was stopped',
        run: inOrder().owns('p', { from: 10 }).stops('p', 50, 1_300).owns('q', { from: 1_100, epoch: 2 }),
      },
      {
        what: 'its owner was without its database',
        run: inOrder()
          .owns('p', { from: 10 })
          .says('p', 1_000, { kind: 'cutOff', since: 50, what: 'renew failed' })
          .owns('q', { from: 1_100, epoch: 2 }),
      },
      {
        what: 'its owner lost its lock, learned it after the next owner had begun, and had begun nothing since',
        run: lostLock()
          .delivers('c', { at: 15, until: 17, epoch: 1 })
          .delivers('d', { at: 50, by: 'q', epoch: 2 }),
      },
      {
        what: 'its owner lost its lock, and the settlement of what was at work is refused',
        run: lostLock()
          .delivers('c', { at: 25, until: 28, epoch: 1, settled: null })
          .settles('c', { by: 'p', at: 42, token: 1, outcome: 'refused', epoch: 1 })
          .stops('p', 28, 41)
          .delivers('c', { at: 50, by: 'q', token: 2, epoch: 2 })
          .delivers('d', { at: 70, by: 'q', epoch: 2 }),
      },
      {
        what: 'its owner lost its lock, and got another',
        run: inOrder().owns('p', { from: 10 }).owns('p', { from: 30, epoch: 2, token: 'p/2' }),
      },
    ],
  },
}

/** `p` owns a partition until its lock is lost. It records that 62 ms after `q` has got the partition. */
function lostLock(): ForgedRun {
  return inOrder()
    .writes('c', { key: 'l' }, { seq: 3, partitionNo: 7 })
    .writes('d', { key: 'm' }, { seq: 4, partitionNo: 7 })
    .owns('p', { from: 10 })
    .owns('q', { from: 30, epoch: 2 })
    .says('p', 92, { kind: 'givenUp', token: 'p' })
}

type ForgedWrite = NonNullable<Parameters<ForgedRun['writes']>[1]>

/** Two events of a key, `a` and then `b`, not delivered yet. */
function written({ secondKey = 'k', ...first }: ForgedWrite & { secondKey?: string } = {}): ForgedRun {
  return new ForgedRun()
    .inMode('partitioned')
    .writes('a', { key: 'k', ...first }, { seq: 1 })
    .writes('b', { key: secondKey, at: 5 }, { seq: 2 })
}

function delivered(run: ForgedRun): ForgedRun {
  return run.delivers('a', { at: 100 }).delivers('b', { at: 200 })
}

function inOrder(): ForgedRun {
  return delivered(written())
}

function reversed(options: { secondKey?: string } = {}): ForgedRun {
  return written(options).delivers('b', { at: 100 }).delivers('a', { at: 200 })
}

/** `a` is written and committed, and `b` is written, at these moments. */
function turns(moments: { firstCommit: number; secondWroteAt: number; secondKey?: string }): ForgedRun {
  const { firstCommit, secondWroteAt, secondKey = 'k' } = moments
  return new ForgedRun()
    .inMode('partitioned')
    .writes('a', { key: 'k', wroteAt: 1, at: firstCommit }, { seq: 1 })
    .writes('b', { key: secondKey, wroteAt: secondWroteAt, at: secondWroteAt + 5 }, { seq: 2 })
}

/** `a` fails at 100 and succeeds at 300. */
function failedFirst({ secondAt }: { secondAt: number }): ForgedRun {
  return written({ behaviour: 'failOnce' })
    .delivers('a', { at: 100, act: 'fail', settled: 'retry' })
    .delivers('a', { at: 300, attempt: 2, token: 2 })
    .delivers('b', { at: secondAt })
}

/** The reply to the settlement of `a` comes late. */
function slowlySettled(): ForgedRun {
  return written()
    .delivers('a', { at: 100, settled: null })
    .says('p', 260, {
      kind: 'settled',
      since: 111,
      settlements: [{ event: 'a', token: 1, outcome: 'done', refused: false }],
    })
}

/** `a` is done, and no process records its settlement. */
function unheard(): ForgedRun {
  return written().delivers('a', { at: 100, settled: null })
}

/** `q` starts `b` late, while the next owner works on `a`, which was written for later. */
function overtaken({ settled, epoch = 2 }: { settled: string; epoch?: number }): ForgedRun {
  const run = written({ notBefore: 50 })
    .stops('q', 50, 195)
    .says('q', 205, { kind: 'cutOff', since: 50, what: 'stall' })
    .delivers('a', { at: 100, until: 300, epoch: 2 })
    .delivers('b', { at: 200, by: 'q', settled, epoch })
  return settled === 'done' ? run : run.delivers('b', { at: 400, token: 2, epoch: 2 })
}

function beside({ act = 'succeed', secondAt = 200 }: { act?: Act; secondAt?: number } = {}): ForgedRun {
  return written()
    .delivers('a', { at: 100, until: 2_000, act, settled: null })
    .settles('a', { by: 'p', at: 150, token: 1, outcome: 'done' })
    .delivers('b', { at: secondAt, by: 'q' })
}

function ended(target: string) {
  return { kind: 'exit', target, code: 0, signal: null, expected: true } as const
}
