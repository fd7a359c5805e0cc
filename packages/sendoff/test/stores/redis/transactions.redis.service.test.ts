import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { Redis } from 'ioredis'
import type { NewRow } from '../../../src/store/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { claimAll, eventIds, leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { RecordingWriterHook } from '../../../src/testing/recording-writer-hook.ts'
import { type FixtureOptions, startOutbox } from '../../fixtures/outbox-fixture.ts'
import { testedClients } from './tested-clients.ts'

const lease = leaseOf('writer')
const clients = await testedClients()
after(() => Promise.all(clients.map((client) => client.close())))
let prefixes = 0

for (const { name, client, multi, exec, get, set } of clients) {
  const place = () => {
    const prefix = `transactions-${process.pid}-${++prefixes}`
    return { store: redisStore({ client, prefix }), order: `{${prefix}}:order` }
  }
  const start = async (test: TestContext, options: FixtureOptions = {}) => {
    const { store, order } = place()
    return { ...(await startOutbox(test, store, options)), order }
  }

  describe(`transactions of a redis store on ${name}`, () => {
    it('keeps commands and events together, and delivers the events straight from memory', async (test) => {
      const { outbox, store, metrics, listener, order } = await start(test, { poller: { enabled: false } })
      const id = await outbox.transaction(async (tx) => {
        tx.set(order, 'placed').expire(order, 1_000)
        const written = await outbox.write('Tested', 1)
        equal(await get(order), null)
        equal(await store.people.count({}), 0)
        return written
      })
      await metrics.until((seen) => seen.dispatchSuccess === 1)

      equal(await get(order), 'placed')
      deepEqual(listener.payloads, [1])
      equal(metrics.hotEnqueued, 1)
      equal((await store.people.query({ limit: 10 }))[0]!.eventId, id)
    })

    it('sends nothing when the code fails', async (test) => {
      const { outbox, store, order } = await start(test)
      const failing = outbox.transaction(async (tx) => {
        tx.set(order, 'placed')
        await outbox.write('Tested', 1)
        throw new Error('business says no')
      })

      await rejects(failing, /business says no/)
      equal(await get(order), null)
      equal(await store.people.count({}), 0)
    })

    it('adds all of more rows than a script takes, or none of them', async () => {
      const { store } = place()
      await store.transaction((tx) => store.insert({ tx, rows: sampleRows(12_000), lease }))
      equal(await store.people.count({}), 12_000)
      const [existing] = await store.people.query({ limit: 1 })

      for (const position of [0, 11_999]) {
        const rows = sampleRows(12_000).with(position, sampleRow({ eventId: existing!.eventId }))
        const refused = { code: 'OUTBOX_DUPLICATE_EVENT_ID', message: new RegExp(existing!.eventId) }
        await rejects(
          store.transaction((tx) => store.insert({ tx, rows, lease })),
          refused,
        )
        equal(await store.people.count({}), 12_000)
      }
      const own = multi()
      await store.insert({ tx: own, rows: sampleRows(12_000), lease })
      await exec(own)
      equal(await store.people.count({}), 24_000)
    })

    it('adds rows with different leases together, or none of them', async () => {
      const { store } = place()
      const [existing, first, second] = sampleRows(3, { claimed: true })
      await store.transaction((tx) => store.insert({ tx, rows: [existing!], lease }))
      const write = (last: NewRow) =>
        store.transaction(async (tx) => {
          await store.insert({ tx, rows: [first!], lease: leaseOf('a', 10_000) })
          await store.insert({ tx, rows: [sampleRow()], lease: leaseOf('a', 10_000) })
          await store.insert({ tx, rows: [last], lease: leaseOf('b b', 20_000) })
        })
      await rejects(write(existing!), { code: 'OUTBOX_DUPLICATE_EVENT_ID' })
      equal(await store.people.count({}), 1)

      await write(second!)
      deepEqual(
        (await store.people.query({ limit: 10 })).map(({ lockedBy }) => lockedBy),
        ['writer', 'a', null, 'b b'],
      )
    })

    it('refuses more rows than Redis should be kept busy with, before anything is sent', async () => {
      const { store, order } = place()
      const rows = sampleRows(50_001)
      const refused = { code: 'OUTBOX_TOO_MANY_EVENTS', message: /100002 events.*several transactions/ }
      await rejects(
        store.transaction(async (tx) => {
          ;(tx as { set(key: string, value: string): unknown }).set(order, 'placed')
          await store.insert({ tx, rows, lease })
          await store.insert({ tx, rows: sampleRows(50_001), lease })
        }),
        refused,
      )
      equal(await store.people.count({}), 0)
      equal(await get(order), null)
    })

    it('forgets the commands and events of a part that failed, and no others', async (test) => {
      const { outbox, metrics, listener, order } = await start(test)
      await outbox.transaction(async (tx) => {
        tx.set(order, 'outer')
        await rejects(
          outbox.transaction(async (part) => {
            part.set(order, 'undone').set(`${order}:undone`, '1')
            await outbox.write('Tested', 'undone')
            throw new Error('not this one')
          }),
          /not this one/,
        )
        await outbox.transaction(async (part) => {
          part.append(order, ' and inner')
          await outbox.write('Tested', 'inner')
        })
        tx.append(order, ' and after')
        await outbox.write('Tested', 'after')
      })
      await metrics.until((seen) => seen.dispatchSuccess === 2)

      equal(await get(order), 'outer and inner and after')
      equal(await get(`${order}:undone`), null)
      deepEqual(listener.payloads.toSorted(), ['after', 'inner'])
    })

    it('has no other end than its own', async () => {
      const { store, order } = place()
      const ended = await store.transaction(async (tx: any) => {
        throws(() => tx.exec(), { code: 'OUTBOX_TRANSACTION_ENDED' })
        tx.set(order, 'placed')
        return { tx }
      })

      throws(() => ended.tx.set(order, 'too late'), { code: 'OUTBOX_TRANSACTION_ENDED' })
      await rejects(store.insert({ tx: ended.tx, rows: [sampleRow()], lease }), {
        code: 'OUTBOX_TRANSACTION_ENDED',
      })
      equal(await get(order), 'placed')
    })

    it('tells of a duplicate after the commit: it is not delivered, and hooks do not hear that it was committed', async (test) => {
      const writerHook = new RecordingWriterHook()
      const { outbox, store, metrics, listener, order } = await start(test, { writerHook })
      const write = (payload: string) =>
        outbox.transaction(async (tx) => {
          tx.set(order, payload)
          return outbox.write('Tested', payload, { idempotencyKey: 'once' })
        })
      const first = await write('first')
      await write('second')
      await outbox.transaction(() => outbox.write('Tested', 'last'))
      await metrics.until((seen) => seen.dispatchSuccess === 2)

      equal(await get(order), 'second')
      deepEqual(listener.payloads, ['first', 'last'])
      equal(writerHook.committed.length, 2)
      equal(await store.people.count({}), 2)
      equal((await store.people.query({ limit: 10 }))[0]!.eventId, first)
    })

    it('adds nothing where an event id was used before; Redis has carried the commands out all the same', async () => {
      const { store, order } = place()
      const row = sampleRow()
      await store.transaction((tx) => store.insert({ tx, rows: [row], lease }))
      const again = store.transaction(async (tx: any) => {
        tx.set(order, 'placed')
        await store.insert({ tx, rows: [sampleRow()], lease })
        await store.insert({ tx, rows: [{ ...row, payload: '2' }], lease })
      })

      await rejects(again, { code: 'OUTBOX_DUPLICATE_EVENT_ID' })
      deepEqual(eventIds(await store.people.query({ limit: 10 })), [row.eventId])
      equal(await get(order), 'placed')
    })

    it('tells of a command that failed, and delivers the events, since Redis undoes nothing', async (test) => {
      const { outbox, metrics, listener, order } = await start(test)
      await set(order, 'no list')
      const failing = outbox.transaction(async (tx) => {
        if (name === 'ioredis') tx.lpush(order, '1')
        else tx.lPush(order, '1')
        await outbox.write('Tested', 'kept')
      })

      await rejects(failing, { code: 'OUTBOX_COMMAND_FAILED' })
      await metrics.until((seen) => seen.dispatchSuccess === 1)
      deepEqual(listener.payloads, ['kept'])
    })

    it('writes in a MULTI of the caller, and wakes those who deliver when it is sent', async (test) => {
      const { outbox, store, metrics, listener, order } = await start(test)
      const discarded = multi().set(order, 'discarded')
      await outbox.write('Tested', 'discarded', { tx: discarded })
      const sent = multi().set(order, 'sent')
      await outbox.write('Tested', 'sent', { tx: sent })
      equal(await store.people.count({}), 0)

      await exec(sent)
      await metrics.until((seen) => seen.dispatchSuccess === 1)
      deepEqual(listener.payloads, ['sent'])
      equal(await get(order), 'sent')
    })

    it('tells by the answer of the caller’s MULTI that an event id was used before', async () => {
      const { store } = place()
      const row = sampleRow()
      await store.transaction((tx) => store.insert({ tx, rows: [row], lease }))
      const own = multi()
      await store.insert({ tx: own, rows: [row], lease })
      const answer = await exec(own).catch((error: unknown) => error)

      match(JSON.stringify(answer, errorsAsText), /DUPLICATEEVENTID/)
    })

    it('refuses to write where no transaction is open', async () => {
      const { store } = place()
      for (const none of [client, {}]) {
        equal(await store.inTransaction(none as never), false)
        await rejects(store.insert({ tx: none, rows: [sampleRow()], lease }), {
          code: 'OUTBOX_NO_TRANSACTION',
        })
      }
    })

    it('takes tens of thousands of events at once', async () => {
      const { store, order } = place()
      const rows = sampleRows(30_000, { payload: '1' })
      await store.transaction(async (tx: any) => {
        tx.set(order, 'placed')
        await store.insert({ tx, rows: rows.slice(0, 15_000), lease })
        await store.insert({ tx, rows: rows.slice(15_000), lease })
      })

      equal(await store.people.count({}), 30_000)
      equal((await store.people.query({ limit: 1, afterSeq: 0 }))[0]!.eventId, rows[0]!.eventId)
    })

    it('finds its scripts where the server has forgotten them', async () => {
      const { store, order } = place()
      const admin = new Redis(process.env['REDIS_URL']!)
      await store.transaction((tx) => store.insert({ tx, rows: [sampleRow()], lease }))
      await admin.script('FLUSH')
      await store.transaction(async (tx: any) => {
        tx.set(order, 'placed')
        await store.insert({ tx, rows: [sampleRow()], lease })
      })
      await admin.script('FLUSH')
      await store.transaction((tx) => store.insert({ tx, rows: [sampleRow()], lease }))
      await admin.script('FLUSH')

      equal((await claimAll(store, 'a')).length, 3)
      admin.disconnect()
    })
  })
}

describe('a redis store on ioredis', () => {
  const client = new Redis(process.env['REDIS_URL']!)
  after(() => client.quit())

  it('refuses a pipeline, which keeps nothing together, and a MULTI that was sent', async () => {
    const store = redisStore({ client, prefix: `pipelines-${process.pid}` })
    const sent = client.multi()
    equal(await store.inTransaction(sent), true)
    await sent.exec()

    for (const none of [client.pipeline(), sent]) {
      equal(await store.inTransaction(none), false)
      await rejects(store.insert({ tx: none, rows: [sampleRow()], lease }), { code: 'OUTBOX_NO_TRANSACTION' })
    }
  })
})

function errorsAsText(_: string, value: unknown): unknown {
  return value instanceof Error ? `${value.message} ${JSON.stringify({ ...value }, errorsAsText)}` : value
}
