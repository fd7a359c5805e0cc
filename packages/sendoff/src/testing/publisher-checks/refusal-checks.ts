import { deepEqual, equal, notEqual } from 'node:assert/strict'
import type { PublisherCheck } from '../publisher-check.ts'
import {
  idOf,
  idsOf,
  KeptLog,
  kindsOf,
  publish,
  publishAll,
  requireStored,
  sampleEvent,
  sampleEvents,
} from './publish-steps.ts'

/** Checks with messages that the broker refuses. */
export const refusalChecks: readonly PublisherCheck[] = [
  {
    name: 'refusal: a message that is too large fails for good, and alone',
    async run(context) {
      const { destination, tooLargeBytes } = context
      if (tooLargeBytes === undefined) return
      const publisher = await context.publisher({ destination })
      const before = sampleEvent(1, { orderingKey: 'a' })
      const large = sampleEvent(2, { orderingKey: 'a', payloadBytes: new Uint8Array(tooLargeBytes) })
      const behind = sampleEvent(3, { orderingKey: 'a' })
      const others = sampleEvents(5)

      const answers = await publish(publisher, [before, large, behind, ...others])
      deepEqual(kindsOf(answers), [
        'done',
        'OUTBOX_PUBLISH_REFUSED',
        'retryAfter',
        ...Array<string>(5).fill('done'),
      ])
      // A broker that closes the channel because of it may have stored other messages. Their acknowledgements
      // are lost with the channel, so they come twice.
      const stored = new Set((await context.stored(destination)).map(idOf))
      deepEqual([...stored].sort(), idsOf([before, ...others]).toSorted())
      // The refusal says nothing about the broker, which still accepts others.
      await publishAll(publisher, [behind])
    },
  },
  {
    name: 'refusal: a message to an unknown destination is not acknowledged, and harms no other',
    async run(context) {
      const { destination, unknownDestination, unknownDestinations } = context
      if (unknownDestinations === 'made') return
      const log = new KeptLog()
      const publisher = await context.publisher({
        destination: ({ eventType }) => (eventType === 'Lost' ? unknownDestination : destination),
        logger: log,
      })
      const lost = sampleEvent(1, { eventType: 'Lost' })
      const [first, ...others] = sampleEvents(5)

      const answers = await publish(publisher, [first!, lost, ...others])
      const kinds = kindsOf(answers)
      notEqual(kinds[1], 'done')
      equal(kinds[1]!.startsWith('OUTBOX_PUBLISH_'), true, kinds[1])
      // Other messages of the batch may have to come again, but have not failed.
      const again = [first!, ...others].filter((_, index) => kinds.toSpliced(1, 1)[index] !== 'done')
      deepEqual(
        [...new Set(kinds.toSpliced(1, 1))].filter((kind) => kind !== 'done' && kind !== 'retryAfter'),
        [],
      )
      await publishAll(publisher, again)
      await requireStored(context, destination, [first!, ...others])
      deepEqual(log.lines, [])
    },
  },
  {
    name: 'refusal: a filtered event is done without being sent',
    async run(context) {
      const { destination } = context
      const publisher = await context.publisher({
        destination,
        filter: ({ payloadJson }) => payloadJson !== '{"number":1}',
      })
      const events = sampleEvents(3)
      await publishAll(publisher, events)
      deepEqual(
        (await context.stored(destination)).map(idOf).sort(),
        idsOf([events[0]!, events[2]!]).toSorted(),
      )
    },
  },
]
