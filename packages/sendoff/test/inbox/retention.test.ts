import { deepEqual, equal, rejects, throws } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Inbox, type InboxOptions } from '../../src/inbox/index.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { MarkPurgeRequest } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { startOutbox, until } from '../fixtures/outbox-fixture.ts'

const dayMs = 86_400_000

/** A store in memory with a clock that tests set. It records the purges of its inbox. */
function clockedStore() {
  const clock = { now: Date.UTC(2026, 0, 1) }
  const purges: MarkPurgeRequest[] = []
  const store = memoryStore({ now: () => clock.now })
  const { inbox } = store
  const recording = {
    ...inbox,
    purge: (request: MarkPurgeRequest) => {
      purges.push(request)
      return inbox.purge(request)
    },
  }
  return { clock, purges, store: { ...store, inbox: recording } }
}

async function startInbox(test: TestContext, options: Partial<InboxOptions<any, any, any>> = {}) {
  const clocked = clockedStore()
  const fixture = await startOutbox(test, clocked.store)
  const inbox = new Inbox({ outbox: fixture.outbox, consumer: 'billing', ...options })
  const process = (...ids: string[]) => Promise.all(ids.map((id) => inbox.process(id, () => {})))
  return { ...clocked, ...fixture, inbox, process }
}

describe('the marks of an inbox', () => {
  it('are kept for 14 days, and deleted in batches', async (test) => {
    const { clock, purges, inbox, process } = await startInbox(test, { purge: { batchSize: 2 } })
    await process('m-1', 'm-2', 'm-3')
    clock.now += 14 * dayMs
    equal(await inbox.purge(), 0)
    deepEqual(await process('m-1'), ['duplicate'])

    clock.now += 1
    purges.length = 0
    equal(await inbox.purge(), 3)
    deepEqual(
      purges.map(({ limit, olderThanMs }) => ({ limit, olderThanMs })),
      [
        { limit: 2, olderThanMs: 14 * dayMs },
        { limit: 2, olderThanMs: 14 * dayMs },
      ],
    )
    deepEqual(await process('m-1'), ['processed'])
  })

  it('are deleted at the start of the inbox and at intervals, until the outbox closes', async (test) => {
    const { clock, purges, outbox, process } = await startInbox(test, {
      retentionMs: dayMs,
      purge: { intervalMs: 1 },
    })
    await process('m-1')
    clock.now += dayMs + 1
    const before = purges.length
    await until(() => purges.length > before)
    deepEqual(await process('m-1'), ['processed'])
    await outbox.close()
    const afterClose = purges.length
    await new Promise((resolve) => setTimeout(resolve, 20))
    equal(purges.length, afterClose)
  })

  it('begin to be deleted when the outbox starts, if the inbox is made before', async (test) => {
    const { store, purges } = clockedStore()
    const outbox = Outbox.writerOnly({ store, logger: false })
    test.after(() => outbox.close())
    new Inbox({ outbox, consumer: 'billing' })
    equal(purges.length, 0)
    await outbox.start()
    await until(() => purges.length === 1)
  })

  it('are left to others with purge: false, and kept forever with an infinite retention', async (test) => {
    const { clock, purges, inbox, outbox, process } = await startInbox(test, { purge: false })
    const forever = new Inbox({ outbox, consumer: 'forever', retentionMs: Infinity })
    await process('m-1')
    await forever.process('m-1', () => {})
    clock.now += 15 * dayMs
    equal(purges.length, 0)
    equal(await forever.purge(), 0)
    equal(await inbox.purge(), 1)
    equal(await forever.process('m-1', () => {}), 'duplicate')
  })

  it('must outlive what a broker keeps: otherwise there is a warning', async (test) => {
    const { inbox, log } = await startInbox(test, { retentionMs: 3 * dayMs })
    inbox.expectRedelivery('topic "orders"', 3 * dayMs)
    deepEqual(log, [])
    inbox.expectRedelivery('topic "orders"', 7 * dayMs)
    inbox.expectRedelivery('queue "orders"', Infinity)
    deepEqual(
      log.map((line) => /^warn: Inbox "billing" keeps marks for 3 days, but (.*?)\. Such/.exec(line)?.[1]),
      [
        'topic "orders" may deliver a message again after 7 days',
        'queue "orders" may deliver a message again after any time',
      ],
    )
  })

  it('survive a failing purge, which is reported and tried again', async (test) => {
    const clocked = clockedStore()
    let failures = 0
    const store = {
      ...clocked.store,
      inbox: {
        ...clocked.store.inbox,
        async purge(): Promise<never> {
          failures += 1
          throw new Error('the disk is full')
        },
      },
    }
    const { outbox, log } = await startOutbox(test, store)
    const inbox = new Inbox({ outbox, consumer: 'billing', purge: { intervalMs: 1 } })
    await until(() => failures > 1)
    equal(log.length, 1)
    equal(/^error: Inbox "billing": Purging failed .* the disk is full/.test(log[0]!), true, log[0])
    await rejects(inbox.purge(), /the disk is full/)
  })

  it('have options that are checked', async (test) => {
    const { outbox } = await startInbox(test)
    const make = (options: object) => () => new Inbox({ outbox, consumer: 'billing', ...options })
    for (const retentionMs of [0, -1, '7d', NaN]) {
      throws(make({ retentionMs }), { code: 'OUTBOX_INVALID_OPTION', message: /retentionMs/ })
    }
    throws(make({ purge: { batchSize: 0 } }), { code: 'OUTBOX_INVALID_OPTION', message: /batchSize/ })
    throws(make({ purge: true }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(make({ keepMs: 1 }), { code: 'OUTBOX_UNKNOWN_OPTION' })
  })
})
