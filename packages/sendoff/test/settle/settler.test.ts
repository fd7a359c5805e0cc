import { deepEqual } from 'node:assert/strict'
import { it } from 'node:test'
import { type Clock, nextTurn, systemClock } from '../../src/clock.ts'
import { Delivery, type Holding } from '../../src/delivery/delivery.ts'
import { Settler } from '../../src/settle/settler.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { StoreRecovery } from '../../src/store-calls/store-recovery.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import type { Outcome, Row, Settlement } from '../../src/store/index.ts'

const done = { kind: 'done' } as const

/** A settler whose store answers when it is told to, and the sizes of the batches that the store has seen. */
function slowSettler(clock: Clock = systemClock) {
  const batches: number[] = []
  const answers: ((answer?: 'refused') => void)[] = []
  const settler = new Settler({
    store: {
      settle: ({ settlements }) => {
        batches.push(settlements.length)
        return new Promise<readonly Settlement[]>((resolve) =>
          answers.push((answer) => resolve(answer === 'refused' ? settlements : [])),
        )
      },
    },
    clock,
    recovery: new StoreRecovery(clock),
    logger: silentLogger,
    onSettled() {},
  })
  let made = 0
  const add = (count: number) => {
    for (let index = 0; index < count; index++) settler.add(deliveryOf(++made), done)
  }
  return { settler, add, batches, answers }
}

function deliveryOf(seq: number): Delivery {
  const row = { seq, eventId: `event-${seq}`, destination: '', lockedBy: 'me', deliveries: 1, attempts: 0 }
  return new Delivery(row as Row, 'cold', { validUntil: Infinity })
}

it('after a quiet time, outcomes are written at the end of their turn; others wait for more', async () => {
  let now = 0
  const timers: number[] = []
  const { settler, add, batches, answers } = slowSettler({
    ...systemClock,
    monotonic: () => now,
    schedule: (ms) => {
      timers.push(ms)
      return () => {}
    },
  })
  add(1)
  add(2)
  deepEqual(batches, [])
  await nextTurn(systemClock)
  deepEqual(batches, [3])
  answers[0]!()
  await nextTurn(systemClock)
  deepEqual([settler.backlog, timers], [0, []])

  now = 2
  add(1)
  await nextTurn(systemClock)
  deepEqual([batches, timers], [[3], [2]])
  settler.flush()
  answers[1]!()
  await nextTurn(systemClock)

  now = 4.1
  add(1)
  await nextTurn(systemClock)
  deepEqual([batches, timers], [[3, 1, 1], [2]])
})

it('a second batch is on its way beside the first only if it is full', async () => {
  const { settler, add, batches, answers } = slowSettler()
  add(10)
  settler.flush()
  add(499)
  settler.flush()
  deepEqual(batches, [10])
  add(1)
  deepEqual(batches, [10, 500])
  answers.forEach((answer) => answer())
  await settler.drained()
})

it('where nothing can begin before, a second batch need not be full, and a third waits', async () => {
  const { settler, add, batches, answers } = slowSettler()
  add(10)
  settler.flushNow()
  add(249)
  settler.flushNow()
  deepEqual(batches, [10])
  add(1)
  settler.flushNow()
  add(200)
  settler.flushNow()
  deepEqual(batches, [10, 250])
  answers.forEach((answer) => answer())
  while (settler.backlog > 0) {
    await new Promise((resolve) => setImmediate(resolve))
    answers.forEach((answer) => answer())
  }
  deepEqual(batches, [10, 250, 200])
})

it('a drain writes what waits beside a batch without an answer', async () => {
  const { settler, add, batches, answers } = slowSettler()
  add(1)
  settler.flush()
  add(3)
  const drained = settler.drained()
  deepEqual(batches, [1, 3])
  answers.forEach((answer) => answer())
  await drained
})

it('a drain writes what was claimed again beside a batch without an answer', async () => {
  const { settler, add, batches, answers } = slowSettler()
  add(1)
  settler.flush()
  const delivery = deliveryOf(2)
  settler.add(delivery, done)
  const drained = settler.drained()
  delivery.claimedAgain({ ...delivery.row, deliveries: 2 }, Infinity)
  answers[1]!('refused')
  await new Promise((resolve) => setImmediate(resolve))
  deepEqual(batches, [1, 1, 1])
  answers.forEach((answer) => answer())
  await drained
})

it('a drain writes what was claimed again while the second batch has no answer', async () => {
  const { settler, add, batches, answers } = slowSettler()
  const delivery = deliveryOf(1)
  settler.add(delivery, done)
  settler.flush()
  add(3)
  const drained = settler.drained()
  delivery.claimedAgain({ ...delivery.row, deliveries: 2 }, Infinity)
  answers[0]!('refused')
  await new Promise((resolve) => setImmediate(resolve))
  deepEqual(batches, [1, 3, 1])
  answers.forEach((answer) => answer())
  await drained
})

it('what was read under different locks is written apart, each with its own proof', async () => {
  const seen: [seqs: number[], token: string | undefined][] = []
  const settler = new Settler({
    store: {
      settle: async ({ settlements, owner }) => {
        seen.push([settlements.map(({ row }) => row.seq), owner?.token])
        return []
      },
    },
    clock: systemClock,
    recovery: new StoreRecovery(systemClock),
    logger: silentLogger,
    onSettled() {},
  })
  const [first, second] = ['first', 'second'].map((token) => ({
    validUntil: Infinity,
    fence: { lock: 'poller', token },
  }))
  const underLock = (seq: number, holding: Holding) =>
    new Delivery({ ...deliveryOf(seq).row, lockedBy: null }, 'cold', holding)

  settler.add(deliveryOf(1), done)
  settler.add(underLock(2, first!), done)
  settler.add(deliveryOf(3), done)
  settler.add(underLock(4, second!), done)
  settler.add(underLock(5, second!), done)
  settler.add(deliveryOf(6), done)
  await settler.drained()
  deepEqual(seen, [
    [[1, 2, 3], 'first'],
    [[4, 5, 6], 'second'],
  ])
})

/** A settler on a clock that the test moves, and the batches that the store has seen, each with its time. */
function timedSettler() {
  const clock = fakeClock()
  const batches: [at: number, ...delays: (number | string)[]][] = []
  const settler = new Settler({
    store: {
      settle: async ({ settlements }) => {
        batches.push([
          clock.monotonic(),
          ...settlements.map(({ outcome }) => ('delayMs' in outcome ? outcome.delayMs : outcome.kind)),
        ])
        return []
      },
    },
    clock,
    recovery: new StoreRecovery(clock),
    logger: silentLogger,
    onSettled() {},
  })
  let made = 0
  return {
    batches,
    settler,
    add: (outcome: Outcome) => settler.add(deliveryOf(++made), outcome),
    moveTo: (time: number) => clock.advance(time - clock.monotonic()),
  }
}

const retryIn = (delayMs: number): Outcome => ({
  kind: 'retry',
  delayMs,
  failure: { error: 'it is down', counted: true },
})

it('retries wait for others, and are due when they would be without that', async () => {
  const { add, moveTo, batches } = timedSettler()
  add(retryIn(1_000))
  await moveTo(20)
  add(retryIn(4_000))
  await moveTo(49)
  deepEqual(batches, [])
  await moveTo(50)
  deepEqual(batches, [[50, 950, 3_970]])

  add(retryIn(10))
  await moveTo(55)
  deepEqual(batches.slice(1), [[55, 5]])
})

it('retries are written with an outcome that must not wait, and when the settler is drained', async () => {
  const { add, moveTo, batches, settler } = timedSettler()
  add(retryIn(1_000))
  await moveTo(10)
  add(done)
  await moveTo(12)
  deepEqual(batches, [[10, 990, 'done']])

  add(retryIn(1_000))
  await settler.drained()
  deepEqual(batches.slice(1), [[12, 1_000]])
})

it('retries that arrive while a batch is written wait for others as well', async () => {
  const { batches, answers, settler } = slowSettler()
  settler.add(deliveryOf(1), done)
  settler.flush()
  settler.add(deliveryOf(2), retryIn(60_000))
  answers.forEach((answer) => answer())
  await new Promise((resolve) => setImmediate(resolve))
  deepEqual(batches, [1])

  const drained = settler.drained()
  deepEqual(batches, [1, 1])
  answers.forEach((answer) => answer())
  await drained
})
