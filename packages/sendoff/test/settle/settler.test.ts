import { deepEqual } from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { Delivery, type Holding } from '../../src/delivery/delivery.ts'
import { Settler } from '../../src/settle/settler.ts'
import { StoreRecovery } from '../../src/store-calls/store-recovery.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import type { Row, Settlement } from '../../src/store/index.ts'

const done = { kind: 'done' } as const

/** A settler whose store answers when it is told to, and the sizes of the batches that the store has seen. */
function slowSettler() {
  const batches: number[] = []
  const answers: (() => void)[] = []
  const settler = new Settler({
    store: {
      settle: ({ settlements }) => {
        batches.push(settlements.length)
        return new Promise<readonly Settlement[]>((resolve) => answers.push(() => resolve([])))
      },
    },
    clock: systemClock,
    recovery: new StoreRecovery(systemClock),
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
