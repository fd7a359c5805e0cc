import { deepEqual, equal, ok } from 'node:assert/strict'
import { it } from 'node:test'
import { outboxAdmin } from '../../src/admin/index.ts'
import type { OutboxLooks } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { write } from './admin-behaviour.ts'

const windowRows = 10
const windowMs = 300

it('a search for text ends before its time is over, says how far it looked, and goes on from there', async () => {
  const clock = fakeClock()
  const store = memoryStore({ now: clock.now })
  const [oldest] = await write(store, 1, { payload: '{"note":"a needle"}' })
  await write(store, 99, { payload: '{"note":"hay"}' })
  const windows: string[] = []
  const admin = outboxAdmin({ store: withLooks(store, slowLooks), clock })

  const text = { text: 'needle' }
  const first = await admin.browse(text, { budgetMs: 1_000 })
  // Three windows take 900 ms. A fourth would end after 1,000.
  equal(windows.length, 3)
  deepEqual(first.events, [])
  equal(first.isCut, true)
  ok(first.lookedTo !== undefined)

  const usual = await admin.browse(text, { cursor: first.cursor! })
  equal(windows.length, 6, 'the usual budget is one second, too')
  const last = await admin.browse(text, { cursor: usual.cursor!, budgetMs: 60_000 })
  equal(windows.length, 10)
  deepEqual(
    last.events.map(({ eventId }) => eventId),
    [oldest!.eventId],
  )
  equal(new Set(windows).size, 10, 'no window is searched twice')

  await admin.browse(text, { budgetMs: 1 })
  equal(windows.length, 11, 'one window is searched, however short the time is')

  function slowLooks(looks: OutboxLooks): OutboxLooks['scan'] {
    return async (request) => {
      windows.push(JSON.stringify(request.after ?? 'from the newest on'))
      await clock.advance(windowMs)
      return looks.scan({ ...request, window: windowRows })
    }
  }
})

/** Returns the store with another search for rows. */
function withLooks<Whole extends { readonly looks: OutboxLooks }>(
  store: Whole,
  scanOf: (looks: OutboxLooks) => OutboxLooks['scan'],
): Whole {
  const scan = scanOf(store.looks)
  const looks = new Proxy(store.looks, {
    get: (target, name) => (name === 'scan' ? scan : (Reflect.get(target, name) as unknown)),
  })
  return new Proxy(store, {
    get: (target, name) => (name === 'looks' ? looks : (Reflect.get(target, name) as unknown)),
  })
}
