import { setTimeout as sleep } from 'node:timers/promises'
import { type ListenerFunction, Outbox, type WriterOutbox } from 'sendoff'
import { type OrderPayload, OrderPlaced, payloadOf } from '../bench-event.ts'
import type { Measurement } from '../metrics.ts'
import { percentile, sharedNow } from '../statistics.ts'
import type { BenchDatabase, BenchDatabases, Conditions, Subject } from '../store-bench.ts'
import { WorkerProcesses } from '../worker-processes.ts'
import { type Mode, sendoffOutbox, sendoffWorker } from './sendoff-outbox.ts'

const eventsPerSecond = 200
const warmUpEvents = 100

/**
 * Measures the time from an acknowledged commit to the first line of the listener, in one process. If the
 * store can wake other processes, also from a writing process to a delivering one.
 */
export function latencySubjects<Tx>(
  databases: BenchDatabases<Tx>,
  { acrossProcesses = false } = {},
): readonly Subject[] {
  const subject = (name: string, mode: Mode): Subject => ({
    name,
    worker: sendoffWorker(databases, mode),
    async measure(conditions) {
      const here = await latencyHere(databases, mode, conditions)
      if (!acrossProcesses) return here

      const database = await databases.create('across', conditions)
      const outbox = await Outbox.writerOnly({ store: database.openStore() }).start()
      const measurement = await latencyAcrossProcesses('across', conditions, (number) =>
        writeOrder(outbox, database, number),
      )
      await outbox.close()
      await database.close()
      return { ...here, ...measurement }
    },
  })

  return [
    subject('sendoff-single-node', 'singleNode'),
    subject('sendoff-multi-node', 'multiNode'),
    ...(acrossProcesses ? [subject('sendoff-partitioned', 'partitioned')] : []),
  ]
}

/** Commits an order with its event. Returns when the commit was acknowledged, by the shared clock. */
export type TimedWrite = (number: number) => Promise<number>

/** Measures events that this process writes and another delivers. */
export async function latencyAcrossProcesses(
  database: string,
  conditions: Conditions,
  write: TimedWrite,
): Promise<Measurement> {
  const workers = await WorkerProcesses.fork(1)
  const run = new LatencyRun(conditions)
  await workers.start(database, 'times', ({ times }) => {
    for (let index = 0; index < times.length; index += 2) run.started(times[index]!, times[index + 1]!)
  })
  const latencies = await run.write(write)
  await workers.stop()
  await workers.end()
  return {
    acrossProcessesP50Ms: percentile(latencies, 0.5),
    acrossProcessesP99Ms: percentile(latencies, 0.99),
  }
}

function latencyHere<Tx>(
  databases: BenchDatabases<Tx>,
  mode: Mode,
  conditions: Conditions,
): Promise<Measurement> {
  return latencyInProcess(databases, conditions, (database, listener) =>
    sendoffOutbox(mode, database.openStore(), listener, conditions),
  )
}

/** Measures events that one outbox writes and delivers. */
export async function latencyInProcess<Tx>(
  databases: BenchDatabases<Tx>,
  conditions: Conditions,
  open: (database: BenchDatabase<Tx>, listener: ListenerFunction<OrderPayload>) => Outbox<Tx>,
): Promise<Measurement> {
  const run = new LatencyRun(conditions)
  const database = await databases.create('latency', conditions)
  const outbox = open(database, async (event) => {
    const now = sharedNow()
    run.started(event.payload.i, now)
  })
  await outbox.start()
  const latencies = await run.write((number) => writeOrder(outbox, database, number))
  await outbox.close()
  await database.close()
  return { latencyP50Ms: percentile(latencies, 0.5), latencyP99Ms: percentile(latencies, 0.99) }
}

async function writeOrder<Tx>(
  outbox: WriterOutbox<Tx>,
  database: BenchDatabase<Tx>,
  number: number,
): Promise<number> {
  let committedAt = 0
  await outbox.transaction(async (tx) => {
    // Registered before the write, whose own callback hands the event over.
    outbox.txContext.afterCommit(() => (committedAt = sharedNow()))
    await database.insertOrder(tx, number)
    await outbox.write(OrderPlaced, payloadOf(number))
  })
  return committedAt
}

/** Writes at a steady pace and waits until everything is delivered. */
class LatencyRun {
  readonly #count: number
  readonly #startedAt: number[] = []
  readonly #all = Promise.withResolvers<void>()
  #delivered = 0

  constructor({ seconds }: Conditions) {
    this.#count = warmUpEvents + Math.ceil(eventsPerSecond * seconds)
  }

  started(number: number, at: number): void {
    this.#startedAt[number] = at
    if (++this.#delivered === this.#count) this.#all.resolve()
  }

  async write(write: TimedWrite): Promise<readonly number[]> {
    const committedAt: number[] = []
    const beganAt = sharedNow()
    for (let number = 0; number < this.#count; number++) {
      await sleep(Math.max(0, beganAt + (number * 1_000) / eventsPerSecond - sharedNow()))
      committedAt[number] = await write(number)
    }
    await this.#all.promise
    return this.#startedAt.map((time, number) => time - committedAt[number]!).slice(warmUpEvents)
  }
}
