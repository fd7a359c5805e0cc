// Writes events and relays them to receivers, until each is DONE or DEAD: `node hostile-relay-process.ts
// SETTINGS`, settings being `HostileRelaySettings` in JSON. Prints the outcomes as JSON. No receiver may end
// this process.
import { setTimeout as delay } from 'node:timers/promises'
import { EventStatus } from '../../../src/store/event-status.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { fixedDelay } from '../../../src/retry/fixed-delay.ts'
import { httpPublisher } from '../../../src/publishers/http/index.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'

export interface HostileRelaySettings {
  /** The URL of each event, which is its type. */
  readonly urls: readonly string[]
  readonly timeoutMs: number
  readonly maxAttempts: number
}

/** How often each outcome of events occurred, by their URLs. */
export type HostileRelayReport = Record<string, Record<string, number>>

const settings = JSON.parse(process.argv[2]!) as HostileRelaySettings
const { urls, timeoutMs, maxAttempts } = settings
const store = memoryStore()
const listeners = new ListenerRegistry().registerDefault(
  httpPublisher({
    url: ({ eventType }) => eventType,
    timeoutMs,
    allowRedirects: true,
    allowPrivateAddresses: true,
    logger: false,
  }),
)
const outbox = await Outbox.multiNode({
  store,
  listeners,
  maxAttempts,
  retryPolicy: fixedDelay(1),
  poller: { intervalMs: 50 },
  logger: false,
}).start()
await outbox.transaction(async () => {
  for (const url of urls) await outbox.write(url, {})
})
while ((await store.people.count({ status: [EventStatus.NEW, EventStatus.RETRY] })) > 0) await delay(20)

const report: HostileRelayReport = {}
for (const { eventType, status, attempts } of await store.people.query({ limit: urls.length })) {
  const end = status === EventStatus.DONE ? 'DONE' : `DEAD after ${attempts} failures`
  const ends = (report[eventType] ??= {})
  ends[end] = (ends[end] ?? 0) + 1
}
console.log(JSON.stringify(report))
await outbox.close()
