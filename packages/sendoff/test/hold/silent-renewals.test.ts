import { deepEqual, equal } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { DispatchContext } from '../../src/route/event-listener.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { faultyStore } from '../fixtures/faulty-store.ts'

const modes = ['multiNode', 'singleNode', 'singleWriter', 'ordered', 'partitioned'] as const
type Mode = (typeof modes)[number]

const leaseMs = 300
const never = <Answer>() => new Promise<Answer>(() => {})

describe('a renewal that is never answered', () => {
  for (const mode of modes) {
    it(`costs no lease and no lock if the next is, ${mode}`, async (test) => {
      const answers = renewals((turn) => turn === 1)
      let isAborted: boolean | undefined
      const delivered = await deliver(test, mode, answers.store, async ({ signal }) => {
        await answers.after(4)
        isAborted = signal.aborted
      })

      equal(isAborted, false)
      deepEqual(delivered, ['first'])
    })

    it(`stops the delivery before another process can begin with it, where none is, ${mode}`, async (test) => {
      const answers = renewals(() => true)
      let isAborted = false
      const begun: [string, boolean][] = []
      const second = Promise.withResolvers<void>()
      const begin = async () => {
        begun.push(['second', isAborted])
        second.resolve()
      }
      const other = listeningTo(test, mode, answers.memory, begin, true)
      await deliver(test, mode, answers.store, async ({ signal }) => {
        signal.addEventListener('abort', () => (isAborted = true))
        await other.start()
        await second.promise
      })

      deepEqual(begun, [['second', true]])
    })
  }
})

/** Renewals of leases and locks, of which some are never answered. */
function renewals(isSilent: (turn: number) => boolean) {
  const memory = memoryStore()
  memory.close = async () => {}
  let turn = 0
  const waiting: { readonly turn: number; readonly resolve: () => void }[] = []
  const renew = <Answer>(answer: () => Promise<Answer>): Promise<Answer> => {
    turn++
    waiting.filter((each) => each.turn <= turn).forEach(({ resolve }) => resolve())
    return isSilent(turn) ? never() : answer()
  }
  const store = faultyStore(memory, {
    renew: (real, ...args) => renew(() => real(...args)),
    locks: { renew: (request) => renew(() => memory.locks.renew(request)) },
  })
  const after = (wanted: number) => new Promise<void>((resolve) => waiting.push({ turn: wanted, resolve }))
  return { memory, store, after }
}

/** Writes an event for the poller, and resolves when its listener has ended, to who was given it. */
async function deliver(
  test: TestContext,
  mode: Mode,
  store: StoreWith<any, 'people'>,
  listen: (context: DispatchContext) => Promise<void>,
): Promise<readonly string[]> {
  const delivered: string[] = []
  const ended = Promise.withResolvers<void>()
  const outbox = listeningTo(test, mode, store, async (context) => {
    delivered.push('first')
    await listen(context).then(ended.resolve, ended.reject)
  })
  await outbox.start()
  await outbox.transaction(() => outbox.write('Tested', 'an event', { deliverAfterMs: 1 }))
  await ended.promise
  return delivered
}

function listeningTo(
  test: TestContext,
  mode: Mode,
  store: StoreWith<any, 'people'>,
  listen: (context: DispatchContext) => Promise<void>,
  isEager = false,
): Outbox<any> {
  const outbox = Outbox[mode]<any>({
    store,
    listeners: new ListenerRegistry().register('Tested', (_, context) => listen(context)),
    logger: false,
    leaseMs,
    // A poll would renew the lock as well.
    poller: { intervalMs: isEager ? 10 : 600_000, busyIntervalMs: isEager ? 10 : 600_000 },
    drainTimeoutMs: 100,
    shutdownTimeoutMs: 100,
  })
  test.after(() => outbox.close())
  return outbox
}
