import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { describeError } from '../../src/describe-error.ts'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { RecordingWriterHook } from '../../src/testing/recording-writer-hook.ts'
import { type FixtureOptions, type OutboxFixture, startOutbox, until } from '../fixtures/outbox-fixture.ts'
import type { TestDatabase } from './test-database.ts'
import { isNoTransaction, type Subject } from './transactions-suite.ts'

/** Tests an outbox that writes in the transactions of an ORM or a driver. */
export function describeOutbox<Tx, Options>(
  given: () => { readonly database: TestDatabase; readonly subject: Subject<Tx, Options> },
): void {
  describe('an outbox in its transactions', () => {
    let tables = 0

    /** Starts an outbox with a table of its own. */
    const start = (test: TestContext, options: FixtureOptions = {}): Promise<Fixture<Tx, Options>> =>
      startOutbox(test, given().database.store(`outbox_${++tables}`), {
        transactions: given().subject.transactions as never,
        ...options,
      }) as Promise<never>
    const addOrder = (tx: Tx, id: string) => given().subject.addOrder(tx, id)
    const run = (tx: Tx, sql: string) => given().subject.run(tx, sql)
    const orders = (prefix: string) => given().database.orders(prefix)

    it('delivers committed events straight from memory', async (test) => {
      const { outbox, store, metrics, listener } = await start(test, { poller: { enabled: false } })
      await outbox.transaction(async (tx) => {
        await addOrder(tx, 'hot-1')
        await outbox.write('Tested', { order: 'hot-1' })
        deepEqual(await orders('hot'), [])
        equal(await store.people.count({}), 0)
      })
      deepEqual(await orders('hot'), ['hot-1'])

      await metrics.until((seen) => seen.dispatchSuccess === 1)
      deepEqual(listener.payloads, [{ order: 'hot-1' }])
      equal(metrics.hotEnqueued, 1)
    })

    it('loses an event together with its data when the work fails after the write', async (test) => {
      const { outbox, store, metrics, listener } = await start(test)
      await rejects(
        outbox.transaction(async (tx) => {
          await outbox.write('Tested', 'lost')
          await addOrder(tx, 'lost-1')
          throw new Error('business says no')
        }),
        /business says no/,
      )
      deepEqual(await orders('lost'), [])
      equal(await store.people.count({}), 0)

      await outbox.transaction(() => outbox.write('Tested', 'kept'))
      await metrics.until((seen) => seen.dispatchSuccess === 1)
      deepEqual(listener.payloads, ['kept'])
    })

    it('continues after caught errors of duplicate event ids, and commits all else', async (test) => {
      const { outbox, store, metrics, listener } = await start(test)
      const refused = { code: 'OUTBOX_DUPLICATE_EVENT_ID' }
      const event = EventEnvelope.ofJson('Tested', '"written twice"')
      await outbox.transaction(async (tx) => {
        await outbox.write('Tested', 'first', { eventId: 'first' })
        await rejects(outbox.write('Tested', 'again', { eventId: 'first' }), refused)
        await outbox.write(event)
        await rejects(outbox.write(event), refused)
        const many = ['a', 'b', 'first', 'c'].map((eventId) =>
          EventEnvelope.of({
            eventType: 'Tested',
            payloadJson: '"never"',
            eventId,
            idempotencyKey: `key ${eventId}`,
          }),
        )
        await rejects(outbox.writeAll(many), { ...refused, message: /the id first was written before/ })
        await addOrder(tx, 'goes-on-1')
        await outbox.write('Tested', 'last', { eventId: 'a', idempotencyKey: 'key a' })
      })
      deepEqual(await orders('goes-on'), ['goes-on-1'])
      await metrics.until((seen) => seen.dispatchSuccess === 3)
      deepEqual(listener.payloads.sort(), ['first', 'last', 'written twice'])
      equal(await store.people.count({}), 3)
    })

    it('loses an event together with its data when a statement fails', async (test) => {
      const { outbox, store } = await start(test)
      await rejects(
        outbox.transaction(async (tx) => {
          await outbox.write('Tested', 'lost')
          await addOrder(tx, 'twice-1')
          await addOrder(tx, 'twice-1')
        }),
      )
      deepEqual(await orders('twice'), [])
      equal(await store.people.count({}), 0)
    })

    it('keeps and logs the error of a statement, but neither the statement nor its values', async (test) => {
      // Too long for some databases, and a duplicate for the others.
      const secret = 'secret-'.repeat(30)
      const { outbox, metrics, log, store } = await start(test, {
        maxAttempts: 1,
        listeners: new ListenerRegistry().registerDefault(() =>
          outbox.transaction(async (tx) => {
            await addOrder(tx, secret)
            await addOrder(tx, secret)
          }),
        ),
      })
      await outbox.transaction(() => outbox.write('Tested', 'fails'))
      await metrics.until((seen) => seen.dispatchDead === 1)
      const [dead] = await store.people.query({ limit: 1 })
      for (const text of [dead!.lastError!, ...log]) {
        match(text, /duplicate key|unique constraint|too long|must be unique|validation error|conflict/i)
        ok(!/secret|insert into/i.test(text) && text.length < 400, text)
      }
    })

    it('rejects with the error of a write, and nothing of its payload', async (test) => {
      const { outbox } = await start(test)
      const lost = `outbox_${tables}`
      const error = await outbox
        .transaction(async (tx) => {
          await run(tx, `alter table ${lost} drop column headers`)
          await outbox.write('Tested', 'secret')
        })
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
      ok(error instanceof Error)
      match(describeError(error), /headers|no longer open/i)
      ok(!/secret|insert into/i.test(describeError(error)), describeError(error))
    })

    it('loses the events of a failed part, and no others', async (test) => {
      const { outbox, store, metrics, listener } = await start(test)
      await outbox.transaction(async (tx) => {
        await addOrder(tx, 'part-1')
        await outbox.write('Tested', 'before')
        await outbox.transaction(async (part) => {
          await addOrder(part, 'part-2')
          await outbox.write('Tested', 'part')
        })
        await rejects(
          outbox.transaction(async (part) => {
            await addOrder(part, 'part-lost')
            await outbox.write('Tested', 'lost')
            throw new Error('part says no')
          }),
          /part says no/,
        )
        await outbox.write('Tested', 'after')
      })

      await metrics.until((seen) => seen.dispatchSuccess === 3)
      deepEqual(listener.payloads.sort(), ['after', 'before', 'part'])
      deepEqual(await orders('part'), ['part-1', 'part-2'])
      equal(await store.people.count({}), 3)
    })

    it('does not deliver events of a savepoint that was rolled back by hand', async (test) => {
      const { noSavepoints } = given().subject
      if (noSavepoints !== undefined) return test.skip(noSavepoints)
      const writerHook = new RecordingWriterHook()
      const { outbox, store, metrics, listener } = await start(test, { writerHook })
      await outbox.transaction(async (tx) => {
        await outbox.write('Tested', 'before')
        await run(tx, 'savepoint by_hand')
        await outbox.write('Tested', 'undone')
        await run(tx, 'rollback to savepoint by_hand')
        await outbox.write('Tested', 'after')
      })

      await metrics.until((seen) => seen.dispatchSuccess === 2)
      deepEqual(listener.payloads.sort(), ['after', 'before'])
      equal(await store.people.count({}), 2)
      await until(() => writerHook.committed.length + writerHook.rolledBack.length === 3)
      deepEqual(writerHook.committed.map(({ payload }) => payload).sort(), ['after', 'before'])
      deepEqual(
        writerHook.rolledBack.map(({ payload }) => payload),
        ['undone'],
      )
    })

    it('treats a refused commit as a rollback, and keeps no place for its events', async (test) => {
      const { refusesCommit } = given().database
      if (refusesCommit === undefined) return test.skip('This database refuses no commit.')
      const writerHook = new RecordingWriterHook()
      const { outbox, metrics, listener } = await start(test, { writerHook, hotQueueCapacity: 1 })
      await rejects(
        outbox.transaction(async (tx) => {
          await outbox.write('Tested', 'refused')
          await run(tx, refusesCommit)
        }),
      )
      deepEqual(
        writerHook.rolledBack.map(({ payload }) => payload),
        ['refused'],
      )
      await outbox.transaction(() => outbox.write('Tested', 'next'))
      await metrics.until((seen) => seen.dispatchSuccess === 1)
      deepEqual(listener.payloads, ['next'])
      equal(metrics.hotEnqueued, 1)
    })

    it('delivers the events that the database kept after a swallowed error', async (test) => {
      const { outbox, store, metrics, listener } = await start(test)
      const goesOn = given().database.afterFailedStatement === 'goes on'
      const commit = outbox.transaction(async (tx) => {
        await outbox.write('Tested', 'swallowed')
        await addOrder(tx, 'swallow-1')
        await Promise.resolve(addOrder(tx, 'swallow-1')).catch(() => {})
      })
      if (goesOn || given().subject.afterSwallowedError === 'resolves') await commit
      else await rejects(commit)
      deepEqual(await orders('swallow'), goesOn ? ['swallow-1'] : [])
      const kept = goesOn ? ['swallowed'] : []
      equal(await store.people.count({}), kept.length)

      await outbox.transaction(() => outbox.write('Tested', 'next'))
      await metrics.until((seen) => seen.dispatchSuccess === kept.length + 1)
      deepEqual(listener.payloads, [...kept, 'next'])
    })

    it('delivers nothing of a transaction that a deadlock undid, though the error was swallowed', async (test) => {
      await deadlock(test, 'circle-after', async (write, raise) => {
        await raise()
        await write()
      })
    })

    it('delivers nothing of a transaction that a deadlock undid beside the write', async (test) => {
      await deadlock(test, 'circle-beside', (write, raise) => Promise.all([raise(), write()]))
      await deadlock(test, 'circle-before', (write, raise) => Promise.all([write(), raise()]))
    })

    /**
     * Makes two transactions wait for each other. In `work`, `raise` fails in one of them, which then
     * swallows the error.
     */
    async function deadlock(
      test: TestContext,
      name: string,
      work: (write: () => Promise<unknown>, raise: () => Promise<unknown>) => Promise<unknown>,
    ): Promise<void> {
      const { outbox, store, metrics, listener } = await start(test)
      const ids = [`${name}-1`, `${name}-2`]
      await given().subject.open(async (tx) => {
        for (const id of ids) await addOrder(tx, id)
      })
      const locked = ids.map(() => Promise.withResolvers<void>())
      const undone = new Set<string>()
      const place = (mine: string, other: string) =>
        outbox.transaction(async (tx) => {
          const raise = async (id: string) =>
            run(tx, `update orders set total = total + 1 where id = '${id}'`)
          await outbox.write('Tested', `first of ${mine}`)
          await raise(mine)
          locked[ids.indexOf(mine)]!.resolve()
          await locked[ids.indexOf(other)]!.promise

          const swallow = () => void undone.add(mine)
          await work(
            () => outbox.write('Tested', `second of ${mine}`).catch(swallow),
            () => raise(other).catch(swallow),
          )
        })
      const ends = await Promise.allSettled([place(ids[0]!, ids[1]!), place(ids[1]!, ids[0]!)])

      equal(undone.size, 1)
      const kept = ids.findIndex((id) => !undone.has(id))
      equal(ends[kept]!.status, 'fulfilled')
      const { afterSwallowedError, afterNoticedRollback = afterSwallowedError } = given().subject
      equal(ends[1 - kept]!.status, afterNoticedRollback === 'resolves' ? 'fulfilled' : 'rejected')
      await metrics.until((seen) => seen.dispatchSuccess === 2)
      deepEqual(listener.payloads.toSorted(), [`first of ${ids[kept]}`, `second of ${ids[kept]}`])
      equal(await store.people.count({}), 2)
    }

    it('separates transactions that run at the same time', async (test) => {
      const { outbox, metrics, listener } = await start(test)
      const numbers = Array.from({ length: 20 }, (_, index) => index)
      const place = (number: number) =>
        outbox.transaction(async (tx) => {
          await addOrder(tx, `same-time-${number}`)
          await outbox.write('Tested', number)
          if (number % 2 === 1) throw new Error('odd')
        })
      const ends = await Promise.allSettled(numbers.map(place))
      const even = numbers.filter((number) => number % 2 === 0)
      deepEqual(
        ends.map(({ status }) => status === 'fulfilled'),
        numbers.map((number) => number % 2 === 0),
      )

      await metrics.until((seen) => seen.dispatchSuccess === even.length)
      deepEqual([...listener.payloads].sort(byNumber), even)
      deepEqual(await orders('same-time'), even.map((number) => `same-time-${number}`).sort())
    })

    it('is found by code that gets no transaction, across awaits and side by side', async (test) => {
      const { outbox, metrics, listener } = await start(test)
      const announce = async (payload: string) => {
        await new Promise((resolve) => setImmediate(resolve))
        return outbox.write('Tested', payload)
      }
      await outbox.transaction(async (tx) => {
        await Promise.all([
          announce('one'),
          addOrder(tx, 'beside-1'),
          announce('two'),
          addOrder(tx, 'beside-2'),
        ])
      })
      await metrics.until((seen) => seen.dispatchSuccess === 2)
      deepEqual(listener.payloads.sort(), ['one', 'two'])
      deepEqual(await orders('beside'), ['beside-1', 'beside-2'])
    })

    it('writes in a transaction that other code opened, and delivers once it was committed', async (test) => {
      const { outbox, store, metrics, listener } = await start(test)
      await given().subject.open(async (tx) => {
        await addOrder(tx, 'opened-1')
        await outbox.write('Tested', 'opened', { tx })
        equal(await store.people.count({}), 0)
      })
      await metrics.until((seen) => seen.dispatchSuccess === 1)
      deepEqual(listener.payloads, ['opened'])
      equal(metrics.hotEnqueued, 0)

      await rejects(
        given().subject.open(async (tx) => {
          await outbox.write('Tested', 'lost', { tx })
          throw new Error('business says no')
        }),
      )
      equal(await store.people.count({}), 1)
    })

    it('writes side by side in a transaction that other code opened', async (test) => {
      const { outbox, metrics, listener } = await start(test)
      const payloads = ['a', 'b', 'c', 'd']
      await given().subject.open(async (tx) => {
        await Promise.all(payloads.map((payload) => outbox.write('Tested', payload, { tx })))
      })
      await metrics.until((seen) => seen.dispatchSuccess === payloads.length)
      deepEqual(listener.payloads.toSorted(), payloads)
    })

    it('refuses to write outside of a transaction, and writes nothing', async (test) => {
      const { outbox, store } = await start(test)
      const ended = [
        await outbox.transaction(async (tx) => ({ tx })),
        await given().subject.open(async (tx) => ({ tx })),
      ]
      for (const { tx } of [...ended, { tx: given().subject.outside as Tx }]) {
        await rejects(outbox.write('Tested', 1, { tx }), isNoTransaction)
      }
      await rejects(outbox.write('Tested', 1), isNoTransaction)
      equal(await store.people.count({}), 0)
    })

    it('passes options to the ORM', async (test) => {
      const { outbox, metrics, listener } = await start(test)
      const { subject, database } = given()
      await outbox.transaction(async (tx) => {
        equal(await database.isSerializable((sql) => run(tx, sql)), true)
        await outbox.write('Tested', 'serialized')
      }, subject.serializable)
      await metrics.until((seen) => seen.dispatchSuccess === 1)
      deepEqual(listener.payloads, ['serialized'])
    })

    it('does not mix with another outbox, but shares a transaction that is named', async (test) => {
      const one = await start(test)
      const other = await start(test)
      await one.outbox.transaction(async (tx) => {
        await one.outbox.write('Tested', 'one')
        await rejects(other.outbox.write('Tested', 'nowhere'), { code: 'OUTBOX_NO_TRANSACTION' })
        await other.outbox.write('Tested', 'other', { tx })
      })
      await one.metrics.until((seen) => seen.dispatchSuccess === 1)
      await other.metrics.until((seen) => seen.dispatchSuccess === 1)
      deepEqual([one.listener.payloads, other.listener.payloads], [['one'], ['other']])
    })

    it('writes bytes and batches, and recognises a duplicate', async (test) => {
      const { outbox, store, metrics, listener } = await start(test)
      const bytes = new Uint8Array([0, 255, 39, 92])
      const eventId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
      const first = await outbox.transaction(async () => {
        await outbox.write('Tested', bytes, { eventId })
        await outbox.writeAll(
          Array.from({ length: 50 }, (_, n) => ({ type: 'Tested', payload: { n } })) as never,
        )
        return outbox.write('Tested', 'once', { idempotencyKey: 'key-1' })
      })
      equal(
        await outbox.transaction(() => outbox.write('Tested', 'again', { idempotencyKey: 'key-1' })),
        first,
      )
      await rejects(
        outbox.transaction(() => outbox.write('Tested', 1, { eventId })),
        { code: 'OUTBOX_DUPLICATE_EVENT_ID' },
      )

      await metrics.until((seen) => seen.dispatchSuccess === 52)
      deepEqual(
        listener.payloads.filter((payload) => payload instanceof Uint8Array).map((found) => [...found]),
        [[...bytes]],
      )
      equal(await store.people.count({}), 52)
    })
  })
}

interface Fixture<Tx, Options> extends Omit<OutboxFixture, 'outbox'> {
  readonly outbox: Outbox<Tx, unknown, Options>
}

function byNumber(one: unknown, other: unknown): number {
  return Number(one) - Number(other)
}
