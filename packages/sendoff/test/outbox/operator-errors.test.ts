import { equal, match, rejects } from 'node:assert/strict'
import { it } from 'node:test'
import type { OutboxError } from '../../src/errors.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { onEveryStoreOnce, startOutbox } from '../fixtures/outbox-fixture.ts'

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })
const listeners = new ListenerRegistry()

it('the error of a failed start says at which step, why, and what to do', async () => {
  const store = { ...memoryStore(), migrate: () => Promise.reject(refused) }
  const outbox = Outbox.multiNode({ store, listeners, logger: false })
  await rejects(outbox.start(), (error: unknown) => {
    match(
      String(error),
      /^OutboxError: The outbox could not start, because bringing the schema up to date failed: Error: connect ECONNREFUSED 127\.0\.0\.1:5432\. Check that/,
    )
    equal((error as OutboxError).code, 'OUTBOX_STORE_FAILED')
    return (error as OutboxError).cause === refused
  })
  await outbox.close()
})

onEveryStoreOnce('a closed outbox refuses calls of operators with a code', async (test, open) => {
  const { outbox } = await startOutbox(test, open())
  await outbox.close()
  const closed = { code: 'OUTBOX_CLOSED' }
  await rejects(outbox.deadEvents.count(), closed)
  await rejects(outbox.deadEvents.query(), closed)
  await rejects(outbox.deadEvents.replay('e-1'), closed)
  await rejects(outbox.paused(), closed)
  await rejects(outbox.blockedKeys.query(), closed)
})

onEveryStoreOnce('calls of operators before the start fail with a code, if at all', async (_test, open) => {
  const outbox = Outbox.multiNode<any>({ store: open(), listeners, logger: false })
  await outbox.deadEvents.count().catch((error: unknown) => {
    equal((error as OutboxError).code, 'OUTBOX_STORE_FAILED')
    match((error as OutboxError).message, /count\(\) of the store failed: .+ call await outbox\.start\(\)/)
  })
  await outbox.close()
})

onEveryStoreOnce('a name that is missing or too long is refused, and means no other', async (test, open) => {
  const { outbox } = await startOutbox(test, open())
  const refused = { code: 'OUTBOX_INVALID_OPTION' }
  const none = undefined as never
  for (const name of [none, '', 'a\0', 'k'.repeat(256)]) {
    await rejects(outbox.pause({ eventType: name }), refused)
    if (!open().orderingKeys) continue
    for (const what of ['retry', 'skip', 'park', 'unpark'] as const) {
      await rejects(outbox.blockedKeys[what](name), refused)
    }
  }
  await rejects(outbox.cancel(none), { ...refused, message: /^Name the event to cancel/ })
  await rejects(outbox.cancel({ eventId: none }), refused)
  equal((await outbox.cancel({ eventId: 'e-1', idempotencyKey: none })).eventId, undefined)
})
