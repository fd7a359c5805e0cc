import { deepEqual, equal, ok } from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { PublisherCheck, PublisherCheckContext } from '../publisher-check.ts'
import {
  idOf,
  idsOf,
  KeptLog,
  kindsOf,
  longestDelayMs,
  publish,
  publishUntilDone,
  requireStored,
  sampleEvent,
  sampleEvents,
  storedIds,
} from './publish-steps.ts'

const quickReturn = { retryAfterMs: 100, maxRetryAfterMs: 400 }

/** Checks with a broker that goes down, is slow, or has not started yet. */
export const outageChecks: readonly PublisherCheck[] = [
  {
    name: 'outage: messages that a killed broker acknowledged are stored; one log line reports it, and events wait without failing',
    harmsBroker: true,
    async run(context) {
      const { destination, broker } = context
      const logger = new KeptLog()
      const publisher = await context.publisher({ destination, logger, timeoutMs: 2_000, ...quickReturn })
      const before = sampleEvents(100)
      const after = sampleEvents(30, { orderingKey: 'a' })
      await publishUntilDone(publisher, before)
      deepEqual(logger.lines, [])
      await broker.kill()
      for (let round = 0; round < 2; round++) {
        const answers = await publish(publisher, after.slice(0, 10))
        deepEqual(new Set(kindsOf(answers)), new Set(['retryAfter']))
        logger.requireOutage(0)
        // After that one more try finds out whether the broker is back.
        await delay(longestDelayMs(answers))
      }
      await broker.start()
      const ids = await storedIds(context, destination)
      deepEqual(
        idsOf(before).filter((id) => !ids.includes(id)),
        [],
      )

      await publishUntilDone(publisher, after)
      await requireStored(context, destination, [...before, ...after])
      logger.requireOutage(1)
    },
  },
  {
    name: 'outage: a broker killed during a publish loses no event and keeps the order of each key',
    harmsBroker: true,
    async run(context) {
      const { destination, broker } = context
      const publisher = await context.publisher({
        destination,
        logger: false,
        timeoutMs: 3_000,
        ...quickReturn,
      })
      const events = Array.from({ length: 400 }, (_, number) =>
        sampleEvent(number, { orderingKey: `key-${number % 5}` }),
      )
      let batches = 0
      let killed: Promise<void> | undefined
      let restarted: Promise<void> | undefined
      await publishUntilDone(publisher, events, (answers) => {
        if (++batches === 5) killed = broker.kill()
        if (kindsOf(answers).includes('retryAfter')) restarted ??= killed!.then(() => broker.start())
      })
      ok(restarted, 'no publish met the killed broker')
      await restarted
      await requireOrder(context, destination, events)
    },
  },
  {
    name: 'outage: a broker that does not reply in time has acknowledged nothing',
    harmsBroker: true,
    async run(context) {
      const { destination, broker } = context
      const publisher = await context.publisher({
        destination,
        logger: false,
        timeoutMs: 1_000,
        ...quickReturn,
      })
      const events = sampleEvents(10)
      await publishUntilDone(publisher, [sampleEvent(1_000)])
      broker.freeze()
      // A process with many threads does not stop in one moment.
      await delay(100)
      const kinds = kindsOf(await publish(publisher, events))
      broker.resume()
      deepEqual(
        new Set(kinds),
        new Set([context.silence === 'waitedFor' ? 'retryAfter' : 'OUTBOX_PUBLISH_FAILED']),
      )

      await publishUntilDone(publisher, events)
      const ids = (await context.stored(destination)).map(idOf)
      deepEqual(
        idsOf(events).filter((id) => !ids.includes(id)),
        [],
      )
    },
  },
  {
    name: 'outage: an aborted call ends, without an acknowledgement',
    harmsBroker: true,
    async run(context) {
      const { destination, broker } = context
      const publisher = await context.publisher({
        destination,
        logger: false,
        timeoutMs: 60_000,
        ...quickReturn,
      })
      const events = sampleEvents(10)
      await publishUntilDone(publisher, [sampleEvent(1_000)])
      broker.freeze()
      const aborter = new AbortController()
      const publishing = publish(publisher, events, aborter.signal)
      aborter.abort(new Error('The lease was lost.'))
      const answers = await publishing
      broker.resume()

      equal(
        answers.every((answer) => answer instanceof Error),
        true,
      )
      await publishUntilDone(publisher, events)
    },
  },
]

/**
 * Requires that every event is stored, and that the first copies of one key's events are in order.
 */
async function requireOrder(
  context: PublisherCheckContext,
  destination: string,
  events: Parameters<typeof requireStored>[2],
): Promise<void> {
  await requireStored(context, destination, events)
  const ids = await storedIds(context, destination)
  for (const key of new Set(events.map(({ orderingKey }) => orderingKey))) {
    const written = new Set(idsOf(events.filter((event) => event.orderingKey === key)))
    deepEqual(
      ids.filter((id) => written.has(id)),
      [...written],
    )
  }
}
