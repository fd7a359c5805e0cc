import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Acceptance, Inbox, messageIdHeader } from '../../src/inbox/index.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type FixtureOptions, onEveryStoreOnce, startOutbox } from '../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../fixtures/recording-listener.ts'

const conflict = Object.assign(new Error('could not serialize access'), { code: '40001' })

async function startInbox(test: TestContext, store: StoreWith<any, 'people'>, options: FixtureOptions = {}) {
  const fixture = await startOutbox(test, store, options)
  return { ...fixture, inbox: new Inbox({ outbox: fixture.outbox, consumer: 'billing' }) }
}

onEveryStoreOnce('a message that comes twice has one effect', async (test, open) => {
  const { outbox, inbox, metrics, listener } = await startInbox(test, open())
  let runs = 0
  const handler = async () => {
    runs += 1
    await outbox.write('Tested', runs)
  }
  equal(await inbox.process('m-1', handler), 'processed')
  equal(await inbox.process('m-1', handler), 'duplicate')
  equal(await inbox.process('m-2', handler), 'processed')
  await metrics.until((seen) => seen.dispatchSuccess === 2)
  deepEqual(listener.payloads, [1, 2])
})

onEveryStoreOnce('a handler that fails leaves neither mark nor events', async (test, open) => {
  const { outbox, inbox, store } = await startInbox(test, open())
  const failing = inbox.process('m-1', async () => {
    await outbox.write('Tested', 'lost')
    throw new Error('no funds')
  })
  await rejects(failing, /no funds/)
  equal(await store.people.count({}), 0)
  equal(await inbox.process('m-1', () => {}), 'processed')
})

onEveryStoreOnce('consumers process the same message independently', async (test, open) => {
  const { outbox, inbox } = await startInbox(test, open())
  const shipping = new Inbox({ outbox, consumer: 'shipping' })
  equal(await inbox.process('m-1', () => {}), 'processed')
  equal(await shipping.process('m-1', () => {}), 'processed')
  equal(await shipping.process('m-1', () => {}), 'duplicate')
})

onEveryStoreOnce('consumers that race on one message give it one effect', async (test, open) => {
  const { inbox } = await startInbox(test, open())
  let effects = 0
  for (let round = 0; round < 20; round += 1) {
    const race = Array.from({ length: 5 }, () => inbox.process(`m-${round}`, () => void (effects += 1)))
    const outcomes = await Promise.all(race)
    deepEqual(outcomes.sort(), ['duplicate', 'duplicate', 'duplicate', 'duplicate', 'processed'])
  }
  equal(effects, 20)
})

onEveryStoreOnce('in an ambient transaction the mark shares its fate', async (test, open) => {
  const { outbox, inbox } = await startInbox(test, open())
  const undone = outbox.transaction(async () => {
    equal(await inbox.process('m-1', () => {}), 'processed')
    throw new Error('the outer work failed')
  })
  await rejects(undone, /the outer work failed/)

  await outbox.transaction(async () => {
    await rejects(
      inbox.process('m-1', async () => {
        await outbox.write('Tested', 'lost')
        throw new Error('the handler failed')
      }),
      /the handler failed/,
    )
    equal(await inbox.process('m-1', () => outbox.write('Tested', 'kept')), 'processed')
    equal(await inbox.process('m-1', () => {}), 'duplicate')
  })
  equal(await inbox.process('m-1', () => {}), 'duplicate')
})

onEveryStoreOnce('in a named transaction the mark shares its fate', async (test, open) => {
  const { outbox, inbox, store } = await startInbox(test, open())
  const undone = store.transaction(async (tx) => {
    equal(await inbox.process('m-1', () => outbox.write('Tested', 'lost'), { tx }), 'processed')
    throw new Error('the outer work failed')
  })
  await rejects(undone, /the outer work failed/)
  const ended = await store.transaction(async (tx) => {
    await inbox.process(
      'm-1',
      async (inner) => {
        await outbox.write('Tested', 1)
        equal(await inbox.process('m-2', () => outbox.write('Tested', 2), { tx: inner }), 'processed')
        equal(await inbox.process('m-3', () => outbox.write('Tested', 3), { tx }), 'processed')
      },
      { tx },
    )
    return { tx: tx as object }
  })
  equal(await store.people.count({}), 3)
  for (const id of ['m-1', 'm-2', 'm-3']) equal(await inbox.process(id, () => {}), 'duplicate')
  await rejects(
    inbox.process('m-4', () => {}, { tx: ended.tx }),
    { code: 'OUTBOX_NO_TRANSACTION' },
  )
})

onEveryStoreOnce('a listener gives its event effects exactly once', async (test, open) => {
  const seen: string[] = []
  let isFirst = true
  const fixture: { inbox?: Inbox<any> } = {}
  const listener = new RecordingListener(async (event) => {
    seen.push(await fixture.inbox!.process(event, () => {}))
    if (!isFirst) return
    isFirst = false
    throw new Error('after the commit')
  })
  const { outbox, inbox, metrics } = await startInbox(test, open(), { listener })
  fixture.inbox = inbox
  await outbox.transaction(() => outbox.write('Tested', 1))
  await metrics.until((counts) => counts.dispatchSuccess === 1)
  deepEqual(seen, ['processed', 'duplicate'])
})

onEveryStoreOnce('an accepted message becomes one event', async (test, open) => {
  const { inbox, store, metrics, listener } = await startInbox(test, open())
  const message = { id: 'x'.repeat(255), type: 'Tested', payload: { n: 1 }, headers: { a: 'b' } }
  const first = await inbox.accept(message)
  equal(first.outcome, 'accepted')
  deepEqual(await inbox.accept(message), { outcome: 'duplicate', eventId: first.eventId })
  const batch = await inbox.acceptAll([message, { ...message, id: 'm-2' }, { ...message, id: 'm-2' }])
  deepEqual(outcomes(batch), ['duplicate', 'accepted', 'duplicate'])
  equal(batch[2]!.eventId, batch[1]!.eventId)

  await metrics.until((seen) => seen.dispatchSuccess === 2)
  equal(listener.payloads.length, 2)
  const [row] = await store.people.query({ eventId: first.eventId!, limit: 1 })
  deepEqual(JSON.parse(row!.headers!), { a: 'b', [messageIdHeader]: message.id })
})

onEveryStoreOnce('messages of different consumers are accepted independently', async (test, open) => {
  const { outbox, inbox } = await startInbox(test, open())
  const other = new Inbox({ outbox, consumer: 'shipping' })
  const message = { id: 'm-1', type: 'Tested', payload: 1 }
  equal((await inbox.accept(message)).outcome, 'accepted')
  equal((await other.accept(message)).outcome, 'accepted')
})

onEveryStoreOnce('an accepted message is part of an ambient transaction', async (test, open) => {
  const { outbox, inbox } = await startInbox(test, open())
  const message = { id: 'm-1', type: 'Tested', payload: 1 }
  const undone = outbox.transaction(async () => {
    equal((await inbox.accept(message)).outcome, 'accepted')
    throw new Error('no')
  })
  await rejects(undone, /no/)
  equal((await inbox.accept(message)).outcome, 'accepted')
})

describe('a conflict with another transaction', () => {
  it('makes an own transaction run again as a whole', async (test) => {
    const store = { ...memoryStore(), isConflict: (error: unknown) => error === conflict }
    const { outbox, inbox } = await startInbox(test, store)
    let runs = 0
    const outcome = await inbox.process('m-1', async () => {
      runs += 1
      await outbox.write('Tested', runs)
      if (runs < 3) throw conflict
    })
    equal(outcome, 'processed')
    equal(runs, 3)
    deepEqual(
      (await store.people.query({ limit: 9 })).map(({ payload }) => payload),
      ['3'],
    )
  })

  it('is given up after five runs', async (test) => {
    const store = { ...memoryStore(), isConflict: (error: unknown) => error === conflict }
    const { inbox } = await startInbox(test, store)
    let runs = 0
    const failing = inbox.process('m-1', () => {
      runs += 1
      throw conflict
    })
    await rejects(failing, (error) => error === conflict)
    equal(runs, 5)
  })

  it('leaves a joined transaction at once', async (test) => {
    const store = { ...memoryStore(), isConflict: (error: unknown) => error === conflict }
    const { outbox, inbox } = await startInbox(test, store)
    let runs = 0
    const joined = outbox.transaction(() =>
      inbox.process('m-1', () => {
        runs += 1
        throw conflict
      }),
    )
    await rejects(joined, (error) => error === conflict)
    equal(runs, 1)
  })
})

describe('bad input', () => {
  const invalid = (message: RegExp) => ({ code: 'OUTBOX_INVALID_MESSAGE', message })

  it('of process and accept is refused before anything is written', async (test) => {
    const { inbox, store } = await startInbox(test, memoryStore())
    const never = () => {
      throw new Error('the handler must not run')
    }
    const bad: [unknown, RegExp][] = [
      [undefined, /needs a non-empty string as its id, not undefined/],
      [null, /not null/],
      ['', /not an empty string/],
      [7, /not 7/],
      [{}, /not undefined/],
      [{ eventId: '' }, /not an empty string/],
      ['x'.repeat(256), /has 256 characters; at most 255 are stored/],
      ['a\0b', /NUL/],
      ['\ud800', /surrogate/],
    ]
    for (const [id, message] of bad) {
      await rejects(inbox.process(id as string, never), invalid(message))
      if (typeof id === 'object') continue
      await rejects(inbox.accept({ id: id as string, type: 'Tested', payload: 1 }), invalid(message))
    }
    await rejects(inbox.accept(null as never), invalid(/accept takes a message .* not null/))
    await rejects(inbox.accept({ id: 'm', type: 'Tested', payload: undefined }), {
      code: 'OUTBOX_PAYLOAD_NOT_SERIALIZABLE',
    })
    await rejects(inbox.process('m', never, { wiat: true } as never), { code: 'OUTBOX_UNKNOWN_OPTION' })
    await rejects(inbox.process('m', never, { wait: 1 } as never), { code: 'OUTBOX_INVALID_OPTION' })
    equal(await store.people.count({}), 0)
  })

  it('of an inbox is refused', () => {
    const outbox = Outbox.writerOnly({ store: memoryStore(), logger: false })
    for (const consumer of [undefined, '', ' a', 'a ', 'x'.repeat(129), 'a\0', 7]) {
      throws(() => new Inbox({ outbox, consumer: consumer as string }), {
        code: 'OUTBOX_INVALID_OPTION',
        message: /consumer/,
      })
    }
    for (const wrong of [undefined, null, {}, memoryStore()]) {
      throws(() => new Inbox({ outbox: wrong as never, consumer: 'billing' }), {
        code: 'OUTBOX_INVALID_OPTION',
        message: /outbox/,
      })
    }
  })

  it('is a call before the start or after the close', async () => {
    const outbox = Outbox.writerOnly({ store: memoryStore(), logger: false })
    const inbox = new Inbox({ outbox, consumer: 'billing' })
    const message = { id: 'm-1', type: 'Tested', payload: 1 }
    await rejects(
      inbox.process('m-1', () => {}),
      { code: 'OUTBOX_NOT_STARTED' },
    )
    await rejects(inbox.accept(message), { code: 'OUTBOX_NOT_STARTED' })
    await outbox.start()
    equal(await inbox.process('m-1', () => {}), 'processed')
    await outbox.close()
    await rejects(
      inbox.process('m-2', () => {}),
      { code: 'OUTBOX_CLOSED' },
    )
    await rejects(inbox.accept(message), { code: 'OUTBOX_CLOSED' })
  })

  it('is a store whose transactions cannot hold effects: the error says why, and what to use', async (test) => {
    const store = { ...memoryStore(), inbox: undefined } as unknown as StoreWith<any, 'people'>
    const { inbox } = await startInbox(test, store)
    await rejects(
      inbox.process('m-1', () => {}),
      (error: Error & { code: string }) => {
        equal(error.code, 'OUTBOX_STORE_CANNOT')
        match(error.message, /In Redis, .* none is undone\. Use .* PostgreSQL, MySQL, MariaDB or SQLite/)
        return true
      },
    )
    equal((await inbox.accept({ id: 'm-1', type: 'Tested', payload: 1 })).outcome, 'accepted')
  })
})

function outcomes(acceptances: readonly Acceptance[]): readonly string[] {
  return acceptances.map(({ outcome }) => outcome)
}
