import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DispatchContext, type EventEnvelope, InMemoryMetrics, ListenerRegistry, Outbox } from 'sendoff'
import type { OutboxStore } from 'sendoff/store'
import { type OrderPayload, OrderPlaced, payloadOf } from '../bench-event.ts'
import type { DestinationAnswer, DestinationOrder } from '../destination-process.ts'
import type { Measurement } from '../metrics.ts'
import { percentile, sharedNow, startWatch } from '../statistics.ts'
import type { BenchDatabase, BenchDatabases, Conditions, Subject } from '../store-bench.ts'

const eventsPerSecond = 200
const warmUpEvents = 200

/** How long the outbox waits for a destination that never replies. */
const timeoutMs = 200

/**
 * Measures the time of a write, commit included, while the destination of a single writer is away, and before
 * and after that. It writes at a steady pace, in the process that also sends. It fails unless everything has
 * arrived in the end.
 */
export function outageSubjects<Tx>(databases: BenchDatabases<Tx>): readonly Subject[] {
  const subject = (name: string, leave: DestinationOrder): Subject => ({
    name,
    async measure(conditions) {
      const database = await databases.create('outage', conditions)
      const destination = await Destination.start()
      const relay = new Relay(database, destination.url)
      await relay.start()
      try {
        return await throughOutage(relay, destination, leave, conditions)
      } finally {
        await relay.close()
        await database.close()
        destination.end()
      }
    },
  })

  return [
    subject('sendoff-single-writer-refused', 'goAway'),
    subject('sendoff-single-writer-unanswered', 'fallSilent'),
  ]
}

async function throughOutage<Tx>(
  relay: Relay<Tx>,
  destination: Destination,
  leave: DestinationOrder,
  { seconds }: Conditions,
): Promise<Measurement> {
  const count = Math.ceil(eventsPerSecond * seconds)
  await relay.write(warmUpEvents)
  const before = await timed(() => relay.write(count))

  await destination.tell(leave)
  const sentBefore = relay.sends
  const during = await timed(() => relay.write(count))
  const sends = relay.sends - sentBefore
  const state = relay.circuitBreakerState

  await destination.tell('comeBack')
  await allArrived(relay, destination)
  const after = await timed(() => relay.write(count))
  await allArrived(relay, destination)

  // From both sides of the outage: if the machine becomes slower meanwhile, one of them is slower.
  const usual = [...before.took, ...after.took]
  return {
    writeP50Ms: percentile(usual, 0.5),
    writeP95Ms: percentile(usual, 0.95),
    outageWriteP50Ms: percentile(during.took, 0.5),
    outageWriteP95Ms: percentile(during.took, 0.95),
    outageP50Ratio: percentile(during.took, 0.5) / percentile(usual, 0.5),
    outageP95Ratio: percentile(during.took, 0.95) / percentile(usual, 0.95),
    outageCpuRatio: (2 * during.cpuUs) / (before.cpuUs + after.cpuUs),
    outageSendsPerSecond: sends / seconds,
    openBreakers: state === 'closed' ? 0 : 1,
  }
}

async function timed(work: () => Promise<readonly number[]>) {
  const stop = startWatch()
  const took = await work()
  return { took, cpuUs: stop().cpuUs }
}

/** Waits until everything has arrived, however long the pauses have become. */
async function allArrived<Tx>(relay: Relay<Tx>, destination: Destination): Promise<void> {
  while ((await destination.tell('count')).arrivals < relay.written) await sleep(50)
}

/** An outbox with its defaults that sends each order to a URL. */
class Relay<Tx> {
  readonly #outbox: Outbox<Tx>
  readonly #database: BenchDatabase<Tx>
  readonly #url: string
  written = 0
  sends = 0

  constructor(database: BenchDatabase<Tx>, url: string) {
    this.#database = database
    this.#url = url
    const store: OutboxStore<Tx> = database.openStore()
    const listeners = new ListenerRegistry().register(
      OrderPlaced,
      (event, context) => this.#send(event, context),
      { timeoutMs },
    )
    this.#outbox = Outbox.singleWriter({ store, listeners, logger: false, metrics: new InMemoryMetrics() })
  }

  async start(): Promise<void> {
    await this.#outbox.start()
  }

  get circuitBreakerState() {
    return this.#outbox.circuitBreakerState
  }

  /** Writes at a steady pace. Returns how long each write took, in ms. */
  async write(count: number): Promise<readonly number[]> {
    const took: number[] = []
    const beganAt = sharedNow()
    for (let number = 0; number < count; number++) {
      await sleep(Math.max(0, beganAt + (number * 1_000) / eventsPerSecond - sharedNow()))
      const startedAt = sharedNow()
      await this.#outbox.transaction(async (tx) => {
        await this.#database.insertOrder(tx, this.written)
        await this.#outbox.write(OrderPlaced, payloadOf(this.written))
      })
      took.push(sharedNow() - startedAt)
      this.written++
    }
    return took
  }

  close(): Promise<void> {
    return this.#outbox.close()
  }

  async #send({ eventId }: EventEnvelope<OrderPayload>, { signal }: DispatchContext): Promise<void> {
    this.sends++
    const response = await fetch(`${this.#url}/${eventId}`, { method: 'POST', signal })
    if (!response.ok) throw new Error(`The destination answered ${response.status}.`)
  }
}

class Destination {
  readonly #child: ChildProcess
  readonly url: string

  static async start(): Promise<Destination> {
    const script = join(import.meta.dirname, '..', 'destination-process.ts')
    const child = fork(script, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const [{ url }] = (await once(child, 'message')) as [DestinationAnswer]
    return new Destination(child, url)
  }

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  async tell(order: DestinationOrder): Promise<DestinationAnswer> {
    const answered = once(this.#child, 'message')
    this.#child.send(order)
    const [answer] = (await answered) as [DestinationAnswer]
    return answer
  }

  end(): void {
    this.#child.disconnect()
  }
}
