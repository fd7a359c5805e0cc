import { type EventFields, Outbox } from 'sendoff'
import { OrderPlaced, payloadOf } from '../bench-event.ts'
import type { Measurement } from '../metrics.ts'
import { type Elapsed, sharedNow, startWatch } from '../statistics.ts'
import type { BenchDatabase, BenchDatabases, Conditions, StartWorker, Subject } from '../store-bench.ts'
import { warmUps } from '../warm-ups.ts'
import { WorkerProcesses } from '../worker-processes.ts'
import { type Mode, sendoffWorker } from './sendoff-outbox.ts'

const warmUpEvents = 10_000
const eventsPerWrite = 1_000

/** Measures how fast Sendoff delivers a backlog, by mode. */
export function drainSubjects<Tx>(databases: BenchDatabases<Tx>): readonly Subject[] {
  const backlog = sendoffBacklog(databases)
  const subject = (mode: Mode, rest: Omit<Drain, 'backlog' | 'worker'>, options = {}) =>
    drainSubject({ ...rest, backlog, worker: sendoffWorker(databases, mode, options) })

  return [
    subject('singleNode', {
      name: 'sendoff-single-node',
      ownLimit: 'limit-owner-update',
      singleProcess: true,
    }),
    subject('multiNode', { name: 'sendoff-multi-node', ownLimit: 'limit-claim-update' }),
    subject(
      'multiNode',
      { name: 'sendoff-multi-node-delete', ownLimit: 'limit-claim-delete' },
      { deleteCompleted: true },
    ),
  ]
}

export interface Drain extends Pick<Subject, 'name' | 'ownLimit' | 'service' | 'singleProcess'> {
  readonly backlog: Backlog
  readonly worker: StartWorker
  /** Most events of a drain, for subjects that would take minutes. */
  readonly maxEvents?: number
}

/** Waiting events, wherever a subject stores them. */
export interface Backlog {
  /** Creates a database with the given number of events. */
  fill(database: string, count: number, conditions: Conditions): Promise<void>
  /** Returns how many of them still wait, or are dead. */
  left(database: string, conditions: Conditions): Promise<number>
  /**
   * Returns the microseconds of CPU that the server has used so far, if there is one and it is on this
   * machine.
   */
  readonly serverCpuUs?: () => Promise<number | undefined>
}

/** Fills a database with waiting events, and measures how fast workers empty it. */
export function drainSubject({ backlog, worker, maxEvents = Infinity, ...subject }: Drain): Subject {
  return {
    ...subject,
    worker,
    async measure(conditions) {
      const count = Math.min(conditions.events, maxEvents)
      const drain = conditions.processes === 1 ? drainHere(worker) : await drainInProcesses(conditions)
      const run = async (database: string, events: number) => {
        await backlog.fill(database, events, conditions)
        const before = await backlog.serverCpuUs?.()
        const time = await drain.run(database, events, conditions)
        const after = await backlog.serverCpuUs?.()
        // A subject that leaves events behind would seem fast.
        const left = await backlog.left(database, conditions)
        if (left > 0) throw new Error(`${left} events were left behind.`)
        return { ...time, serverCpuUs: after! - before! }
      }

      for (const name of warmUps) {
        await run(name, Math.min(warmUpEvents, conditions.events, maxEvents / 5))
      }
      const { ms, cpuUs, serverCpuUs } = await run('drain', count)
      await drain.end?.()
      return {
        eventsPerSecond: count / (ms / 1_000),
        cpuUsPerEvent: cpuUs / count,
        ...(Number.isFinite(serverCpuUs) && { serverCpuUsPerEvent: serverCpuUs / count }),
      } satisfies Measurement
    },
  }
}

/** Runs drains, and returns the time of each. */
interface Drainer {
  run(database: string, count: number, conditions: Conditions): Promise<Elapsed>
  end?(): Promise<void>
}

function drainHere(worker: StartWorker): Drainer {
  return {
    async run(database, count, conditions) {
      let delivered = 0
      const all = Promise.withResolvers<void>()
      const stop = startWatch()
      const running = await worker(database, conditions, () => {
        if (++delivered === count) all.resolve()
      })
      await all.promise
      // The last settlements count as well.
      await running.settled?.()
      const time = stop()

      await running.stop()
      assertOnce(delivered, count)
      return time
    },
  }
}

async function drainInProcesses({ processes }: Conditions): Promise<Drainer> {
  const workers = await WorkerProcesses.fork(processes)
  return {
    async run(database, count) {
      let [delivered, lastAt] = [0, 0]
      const all = Promise.withResolvers<void>()
      const startedAt = sharedNow()
      await workers.start(database, 'counts', (report) => {
        delivered += report.count
        lastAt = Math.max(lastAt, report.lastAt)
        if (delivered >= count) all.resolve()
      })
      await all.promise
      const ms = lastAt - startedAt
      const cpuUs = await workers.stop()
      assertOnce(delivered, count)
      return { ms, cpuUs }
    },
    end: () => workers.end(),
  }
}

function assertOnce(delivered: number, count: number): void {
  if (delivered !== count) throw new Error(`${delivered} deliveries of ${count} events.`)
}

/**
 * Events written by Sendoff, a thousand in each transaction. Those of a warm-up may have other fields, if the
 * measured ones would run some code too rarely to get it compiled.
 */
export function sendoffBacklog<Tx>(
  databases: BenchDatabases<Tx>,
  fieldsOf?: (number: number) => EventFields,
  warmUpFieldsOf = fieldsOf,
): Backlog {
  const { serverCpuUs } = databases
  return {
    ...(serverCpuUs && { serverCpuUs }),
    async fill(name, count, conditions) {
      const database = await databases.create(name, conditions)
      await writeEvents(database, count, warmUps.some((each) => each === name) ? warmUpFieldsOf : fieldsOf)
      await database.tidy?.()
      await database.close()
    },
    async left(name, conditions) {
      const database = await databases.open(name, conditions)
      const store = database.openStore()
      const left = await store.people!.count({ status: [0, 2, 3], eventType: OrderPlaced.name })
      await store.close()
      await database.close()
      return left
    },
  }
}

export async function writeEvents<Tx>(
  database: BenchDatabase<Tx>,
  count: number,
  fieldsOf: (number: number) => EventFields = () => ({}),
): Promise<void> {
  const outbox = await Outbox.writerOnly({ store: database.openStore() }).start()
  for (let written = 0; written < count; written += eventsPerWrite) {
    const length = Math.min(eventsPerWrite, count - written)
    await outbox.transaction(() =>
      outbox.writeAll(
        Array.from({ length }, (_, index) =>
          OrderPlaced.of(payloadOf(written + index), fieldsOf(written + index)),
        ),
      ),
    )
  }
  await outbox.close()
}
