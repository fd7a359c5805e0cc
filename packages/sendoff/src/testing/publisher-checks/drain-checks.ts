import { deepEqual } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import { Outbox } from '../../outbox/outbox.ts'
import { ListenerRegistry } from '../../route/listener-registry.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { PublisherCheck } from '../publisher-check.ts'
import { idOf } from './publish-steps.ts'

/** Checks of a publisher in an outbox. */
export const drainChecks: readonly PublisherCheck[] = [
  {
    name: 'drain: a closed outbox has delivered the events it claimed, each of them once',
    async run(context) {
      const { destination } = context
      const publisher = await context.publisher({ destination })
      const store = memoryStore()
      const outbox = await Outbox.multiNode({
        store,
        listeners: new ListenerRegistry().registerDefault(publisher),
      }).start()
      const ids = await outbox.transaction(async () => {
        const written: string[] = []
        for (let number = 0; number < 250; number++) written.push(await outbox.write('Checked', { number }))
        return written
      })
      await outbox.close()

      const done = await store.people.query({ status: [EventStatus.DONE], limit: 500 })
      deepEqual(done.map(({ eventId }) => eventId).sort(), ids.sort())
      deepEqual((await context.stored(destination)).map(idOf).sort(), ids)
    },
  },
]
