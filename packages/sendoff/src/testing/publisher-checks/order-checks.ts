import { deepEqual } from 'node:assert/strict'
import type { PublisherCheck } from '../publisher-check.ts'
import { idOf, idsOf, kindsOf, publish, publishAll, sampleEvent, sampleEvents } from './publish-steps.ts'

/** Checks of the order of one key, also when a message fails. */
export const orderChecks: readonly PublisherCheck[] = [
  {
    name: 'order: messages of one key are stored in the order of their batches',
    async run(context) {
      const { destination } = context
      const publisher = await context.publisher({ destination })
      const events = Array.from({ length: 120 }, (_, number) =>
        sampleEvent(number, { orderingKey: `key-${number % 7}` }),
      )
      for (let start = 0; start < events.length; start += 40) {
        await publishAll(publisher, events.slice(start, start + 40))
      }

      const ids = (await context.stored(destination)).map(idOf)
      for (let key = 0; key < 7; key++) {
        const written = idsOf(events.filter((event) => event.orderingKey === `key-${key}`))
        deepEqual(
          ids.filter((id) => written.includes(id)),
          written,
        )
      }
    },
  },
  {
    name: 'order: after a message that cannot be made, those of its key are put off and others are sent',
    async run(context) {
      const { destination } = context
      const publisher = await context.publisher({
        destination: (event) => {
          if (event.payloadJson === '{"number":1}') throw new Error('no route')
          return destination
        },
      })
      const keyed = sampleEvents(4, { orderingKey: 'a' })
      const other = sampleEvent(1_000, { orderingKey: 'b' })
      const free = sampleEvent(2_000)

      const answers = await publish(publisher, [...keyed, other, free])
      deepEqual(kindsOf(answers), ['done', 'no route', 'retryAfter', 'retryAfter', 'done', 'done'])
      deepEqual(
        (await context.stored(destination)).map(idOf).sort(),
        idsOf([keyed[0]!, other, free]).toSorted(),
      )
    },
  },
]
