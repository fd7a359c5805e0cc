import { deepEqual, equal, rejects } from 'node:assert/strict'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import type { OutboxError } from '../../src/errors.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { onEveryStoreOnce, startOutbox } from '../fixtures/outbox-fixture.ts'

const refused = { code: 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE' }

/** A write that is refused before it reaches the store. */
function writeBad(outbox: Outbox<any>, options = {}): Promise<unknown> {
  return outbox.write('Tested', 1n, options)
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const unheard: Readonly<Record<string, (outbox: Outbox<any>, tx: unknown) => unknown>> = {
  'write()': (outbox) => void writeBad(outbox),
  'write() with { tx }': (outbox, tx) => void writeBad(outbox, { tx }),
  'writeAll()': (outbox) => void outbox.writeAll([{ type: 'Tested', payload: 1n } as never]),
  'the writer': (outbox) => void outbox.writer.write('Tested', 1n),
  'a transaction within': (outbox) => void outbox.transaction(() => writeBad(outbox)),
}

for (const [name, write] of Object.entries(unheard)) {
  onEveryStoreOnce(`a failure of ${name} that no code sees undoes the transaction`, async (test, open) => {
    const { outbox, store } = await startOutbox(test, open())
    await rejects(
      outbox.transaction(async (tx: unknown) => {
        await outbox.write('Tested', 'good')
        write(outbox, tx)
      }),
      (error: OutboxError) => error.code.startsWith('OUTBOX_'),
    )
    equal(await store.people.count({}), 0)
  })
}

onEveryStoreOnce(
  'a write that failed long before the end of its transaction undoes it, too',
  async (test, open) => {
    const { outbox, store } = await startOutbox(test, open())
    await rejects(
      outbox.transaction(async () => {
        void writeBad(outbox)
        await nextTurn()
        await outbox.write('Tested', 'good')
      }),
      refused,
    )
    equal(await store.people.count({}), 0)
  },
)

onEveryStoreOnce('a failed insert that no code sees undoes the transaction', async (test, open) => {
  let isBroken = false
  const store = faultyStore(open(), {
    insert: (real, ...args) => (isBroken ? Promise.reject(new Error('the disk is full')) : real(...args)),
  })
  const { outbox } = await startOutbox(test, store)
  await rejects(
    outbox.transaction(async () => {
      await outbox.write('Tested', 'good')
      isBroken = true
      void outbox.write('Tested', 'bad')
      await nextTurn()
    }),
    /the disk is full/,
  )
  equal(await store.people.count({}), 0)
})

onEveryStoreOnce('a failed write that no code sees undoes only its part', async (test, open) => {
  const { outbox, store } = await startOutbox(test, open())
  await outbox.transaction(async () => {
    await outbox.write('Tested', 'good')
    await rejects(
      outbox.transaction(async () => {
        await outbox.write('Tested', 'part')
        void writeBad(outbox)
      }),
      refused,
    )
  })
  equal(await store.people.count({}), 1)
})

const heard: Readonly<Record<string, (outbox: Outbox<any>) => unknown>> = {
  'is awaited and caught': async (outbox) => {
    await rejects(writeBad(outbox), refused)
  },
  'is caught without being awaited': (outbox) => void writeBad(outbox).catch(() => {}),
  'is caught behind others': (outbox) =>
    void writeBad(outbox)
      .then(() => {})
      .finally(() => {})
      .catch(() => {}),
  'is heard of by then()': (outbox) =>
    void writeBad(outbox).then(
      () => {},
      () => {},
    ),
  'is one of several': async (outbox) => {
    await Promise.allSettled([writeBad(outbox), outbox.write('Tested', 'another')])
  },
  'is awaited later': async (outbox) => {
    const write = writeBad(outbox)
    await nextTurn()
    await rejects(write, refused)
  },
}

for (const [name, write] of Object.entries(heard)) {
  onEveryStoreOnce(`a transaction continues without a failed write that ${name}`, async (test, open) => {
    const { outbox, store } = await startOutbox(test, open())
    const isUnhandled: unknown[] = []
    const note = (error: unknown) => isUnhandled.push(error)
    process.on('unhandledRejection', note)
    test.after(() => process.off('unhandledRejection', note))
    await outbox.transaction(async () => {
      await outbox.writeAll([EventEnvelope.ofJson('Tested', '"good"')])
      await write(outbox)
    })
    equal(
      (await store.people.query({ limit: 9 })).some(({ payload }) => payload === '"good"'),
      true,
    )
    await nextTurn()
    deepEqual(isUnhandled, [])
  })
}
