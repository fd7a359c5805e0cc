import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { OutboxError } from '../../src/errors.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'
import { Gate } from '../fixtures/gate.ts'
import { onEveryStore, rowOf, startOutbox, writeTested } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

onEveryStore('a committed event is delivered by the hot path, without a poll', async (test, open, mode) => {
  const { outbox, store, listener, metrics } = await startOutbox(test, open(), {
    mode,
    poller: { enabled: false },
  })
  const [id] = await writeTested(outbox, { n: 1 })

  await metrics.until((seen) => seen.dispatchSuccess === 1)
  deepEqual(listener.payloads, [{ n: 1 }])
  equal(metrics.hotEnqueued, 1)
  equal((await rowOf(store, id!))?.status, 1)
})

onEveryStore('a rolled-back transaction leaves no event behind', async (test, open, mode) => {
  const { outbox, store, listener, metrics } = await startOutbox(test, open(), { mode })
  await rejects(
    outbox.transaction(async () => {
      await outbox.write('Tested', 'lost')
      throw new Error('business says no')
    }),
    /business says no/,
  )
  await writeTested(outbox, 'kept')

  await metrics.until((seen) => seen.dispatchSuccess === 1)
  deepEqual(listener.payloads, ['kept'])
  equal(await store.people.count({}), 1)
})

onEveryStore('a rolled-back inner transaction undoes only its own events', async (test, open, mode) => {
  const { outbox, store, listener, metrics } = await startOutbox(test, open(), { mode })
  await outbox.transaction(async () => {
    await outbox.write('Tested', 'outer, before')
    await rejects(
      outbox.transaction(async () => {
        await outbox.write('Tested', 'inner')
        throw new Error('inner says no')
      }),
    )
    await outbox.transaction(() => outbox.write('Tested', 'inner, kept'))
    await outbox.write('Tested', 'outer, after')
  })

  await metrics.until((seen) => seen.dispatchSuccess === 3)
  deepEqual(listener.payloads.sort(), ['inner, kept', 'outer, after', 'outer, before'])
  equal(await store.people.count({}), 3)
})

onEveryStore('an outer rollback undoes committed inner transactions', async (test, open, mode) => {
  const { outbox, store, listener } = await startOutbox(test, open(), { mode })
  await rejects(
    outbox.transaction(async () => {
      await outbox.transaction(() => outbox.write('Tested', 'inner'))
      throw new Error('outer says no')
    }),
  )
  equal(await store.people.count({}), 0)
  equal(listener.events.length, 0)
})

onEveryStore(
  'an outer write beside an open inner transaction survives its rollback',
  async (test, open, mode) => {
    const { outbox, store, metrics, listener } = await startOutbox(test, open(), { mode })
    await outbox.transaction(async () => {
      const innerHasWritten = Promise.withResolvers<void>()
      await Promise.allSettled([
        outbox.transaction(async () => {
          await outbox.write('Tested', 'inner')
          innerHasWritten.resolve()
          await new Promise((resolve) => setImmediate(resolve))
          throw new Error('inner says no')
        }),
        innerHasWritten.promise.then(() => outbox.write('Tested', 'outer')),
      ])
    })

    await metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(listener.payloads, ['outer'])
    equal(await store.people.count({}), 1)
  },
)

onEveryStore(
  'naming the outer transaction inside an inner one writes into the inner one',
  async (test, open, mode) => {
    const { outbox, store } = await startOutbox(test, open(), { mode })
    await outbox.transaction(async (outer: unknown) => {
      await rejects(
        outbox.transaction(async () => {
          await outbox.write('Tested', 'inner', { tx: outer })
          throw new Error('inner says no')
        }),
        /inner says no/,
      )
    })
    equal(await store.people.count({}), 0)
  },
)

onEveryStore('a write outside a transaction is refused and says what to do', async (test, open, mode) => {
  const { outbox } = await startOutbox(test, open(), { mode })
  await rejects(outbox.write('Tested', 1), (error: OutboxError) => {
    equal(error.code, 'OUTBOX_NO_TRANSACTION')
    match(error.message, /outbox\.transaction/)
    return true
  })
})

onEveryStore('a write after the end of its transaction is refused', async (test, open, mode) => {
  const { outbox, store } = await startOutbox(test, open(), { mode })
  let ambient: (() => Promise<unknown>) | undefined
  let named: unknown
  await outbox.transaction(async (tx: unknown) => {
    named = tx
    // It runs later, but still finds the transaction it was created in.
    ambient = await new Promise((resolve) =>
      setImmediate(() => resolve(bindHere(() => outbox.write('Tested', 'late')))),
    )
  })

  await rejects(ambient!(), { code: 'OUTBOX_TRANSACTION_ENDED' })
  await rejects(outbox.write('Tested', 'late', { tx: named }), { code: 'OUTBOX_NO_TRANSACTION' })
  equal(await store.people.count({}), 0)
})

onEveryStore('a write that is not awaited is still part of its transaction', async (test, open, mode) => {
  const { outbox, metrics, listener } = await startOutbox(test, open(), { mode })
  await outbox.transaction(async () => {
    void outbox.write('Tested', 'not awaited')
  })
  await metrics.until((seen) => seen.dispatchSuccess === 1)
  deepEqual(listener.payloads, ['not awaited'])
})

onEveryStore(
  'a transaction waits for a write that is not awaited, however long it takes',
  async (test, open, mode) => {
    const gate = new Gate()
    const { outbox, store } = await startOutbox(test, open(), {
      mode,
      writerHook: {
        async beforeWrite(events) {
          await gate.passed
          return events
        },
      },
    })
    let write: Promise<unknown> | undefined
    await outbox.transaction(async () => {
      write = outbox.write('Tested', 'slow')
      setImmediate(() => gate.open())
    })
    await write
    equal(await store.people.count({}), 1)
  },
)

onEveryStore('a write that is not awaited undoes its transaction if it fails', async (test, open, mode) => {
  const gate = new Gate()
  const { outbox, store } = await startOutbox(test, open(), {
    mode,
    writerHook: {
      async beforeWrite(events) {
        if (events[0]!.payload === 'good') return events
        await gate.passed
        throw new Error('hook says no')
      },
    },
  })
  await rejects(
    outbox.transaction(async () => {
      await outbox.write('Tested', 'good')
      outbox.write('Tested', 'bad').catch(() => {})
      setImmediate(() => gate.open())
    }),
    /hook says no/,
  )
  equal(await store.people.count({}), 0)
})

onEveryStore('a late write is refused before it reaches the store', async (test, open, mode) => {
  let inserts = 0
  const store = faultyStore(open(), {
    insert(real, ...args) {
      inserts++
      return real(...args)
    },
  })
  const { outbox } = await startOutbox(test, store, { mode })
  const late = await outbox.transaction(async (tx: unknown) => () => outbox.write('Tested', 'late', { tx }))
  await rejects(late(), { code: 'OUTBOX_NO_TRANSACTION' })
  equal(inserts, 0)
})

onEveryStore('a listener does not run inside the transaction that woke it', async (test, open, mode) => {
  const listener = new RecordingListener(async () => {
    await rejects(outbox.write('Tested', 'from the listener'), { code: 'OUTBOX_NO_TRANSACTION' })
  })
  const { outbox, metrics } = await startOutbox(test, open(), { mode, listener })
  await writeTested(outbox, 1)
  await metrics.until((seen) => seen.dispatchSuccess === 1)
})

onEveryStore(
  'a listener does not run in the asynchronous context of the writer or the poller',
  async (test, open, mode) => {
    const request = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const listener = new RecordingListener(() => void seen.push(request.getStore()))
    const { outbox, metrics } = await startOutbox(test, open(), { mode, listener, hotQueueCapacity: 1 })
    await request.run('a request', async () => {
      await writeTested(outbox, 'hot', 'cold')
      await outbox.poll()
    })
    await metrics.until((now) => now.dispatchSuccess === 2)
    deepEqual(seen, [undefined, undefined])
  },
)

onEveryStore('code that outlives its transaction can begin a new one', async (test, open, mode) => {
  const { outbox, metrics } = await startOutbox(test, open(), { mode })
  let later: (() => Promise<unknown>) | undefined
  await outbox.transaction(async () => {
    later = bindHere(() => outbox.transaction(() => outbox.write('Tested', 2)))
    await outbox.write('Tested', 1)
  })
  await later!()
  await metrics.until((seen) => seen.dispatchSuccess === 2)
})

onEveryStore('callbacks after commit respect nesting', async (test, open, mode) => {
  const { outbox } = await startOutbox(test, open(), { mode })
  const calls: string[] = []
  await outbox.transaction(async () => {
    outbox.txContext.afterCommit(() => calls.push('outer committed'))
    await rejects(
      outbox.transaction(async () => {
        outbox.txContext.afterCommit(() => calls.push('never'))
        outbox.txContext.afterRollback(() => calls.push('inner rolled back'))
        throw new Error('inner says no')
      }),
    )
    await outbox.transaction(async () => outbox.txContext.afterCommit(() => calls.push('inner committed')))
    deepEqual(calls, ['inner rolled back'])
  })
  deepEqual(calls, ['inner rolled back', 'outer committed', 'inner committed'])
})

onEveryStore(
  'a callback after the commit that throws changes nothing and is logged',
  async (test, open, mode) => {
    const { outbox, metrics, log } = await startOutbox(test, open(), { mode })
    const calls: string[] = []
    await outbox.transaction(async () => {
      outbox.txContext.afterCommit(() => {
        throw new Error('callback says no')
      })
      outbox.txContext.afterRollback(() => calls.push('rolled back'))
      await outbox.write('Tested', 1)
    })
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(calls, [])
    match(log.join('\n'), /A callback after the end of a transaction failed\. Error: callback says no/)
  },
)

onEveryStore(
  'rollback callbacks of a committed inner transaction run after the outer rollback',
  async (test, open, mode) => {
    const { outbox } = await startOutbox(test, open(), { mode })
    const calls: string[] = []
    await rejects(
      outbox.transaction(async () => {
        await outbox.transaction(async () => {
          outbox.txContext.afterCommit(() => calls.push('never'))
          outbox.txContext.afterRollback(() => calls.push('inner rolled back'))
        })
        deepEqual(calls, [])
        throw new Error('outer says no')
      }),
    )
    deepEqual(calls, ['inner rolled back'])
  },
)

onEveryStore('two outboxes in one process do not mix their transactions', async (test, open, mode) => {
  const first = await startOutbox(test, open(), { mode })
  const second = await startOutbox(test, open(), { mode })
  await first.outbox.transaction(async () => {
    await rejects(second.outbox.write('Tested', 1), { code: 'OUTBOX_NO_TRANSACTION' })
  })
})

onEveryStore(
  'a transaction inside one of another outbox on the same data is refused, and does not wait',
  async (test, open, mode) => {
    const first = await startOutbox(test, open(), { mode })
    const second = await startOutbox(test, open(), { mode })
    let later: (() => Promise<unknown>) | undefined
    await first.outbox.transaction(async () => {
      await first.outbox.write('Tested', 1)
      await rejects(
        second.outbox.transaction(async () => {}),
        { code: 'OUTBOX_INSIDE_TRANSACTION' },
      )
      later = bindHere(() => second.outbox.transaction(() => second.outbox.write('Tested', 2)))
    })
    await later!()
    await first.metrics.until((seen) => seen.dispatchSuccess === 1)
    await second.metrics.until((seen) => seen.dispatchSuccess === 1)
  },
)

function bindHere<Result>(work: () => Result): () => Result {
  const run = AsyncLocalStorage.snapshot()
  return () => run(work)
}
