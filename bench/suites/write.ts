import { Outbox, type WriterOutbox } from 'sendoff'
import { OrderPlaced, payloadOf } from '../bench-event.ts'
import type { Measurement } from '../metrics.ts'
import { type Elapsed, startWatch } from '../statistics.ts'
import type { BenchDatabase, BenchDatabases, Conditions, Subject } from '../store-bench.ts'
import { warmUps } from '../warm-ups.ts'
import { sendoffOutbox } from './sendoff-outbox.ts'

export const eventsPerBulkWrite = 1_000
export const concurrentWriters = 16

export interface WriteChoices {
  /** Whether many connections are measured as well; of no use for stores with one writer at a time. */
  readonly concurrent?: boolean
  /**
   * Returns the microseconds of CPU that the server has used so far, if there is one and it is on this
   * machine.
   */
  readonly serverCpuUs?: () => Promise<number | undefined>
}

/** Measures how fast business rows and their events are committed. */
export function writeSubjects<Tx>(
  databases: BenchDatabases<Tx>,
  choices: WriteChoices = {},
): readonly Subject[] {
  const subject = (
    name: string,
    makeOutbox: (database: BenchDatabase<Tx>, conditions: Conditions) => WriterOutbox<Tx>,
  ): Subject => ({
    name,
    measure: (conditions) =>
      measureWrites(conditions, choices, async (name, within) => {
        const database = await databases.create(name, within)
        const outbox = await makeOutbox(database, within).start()

        return {
          single: (number) =>
            outbox.transaction(async (tx) => {
              await database.insertOrder(tx, number)
              await outbox.write(OrderPlaced, payloadOf(number))
            }),
          bulk: (first) =>
            outbox.transaction(async (tx) => {
              await database.insertOrder(tx, first)
              await outbox.writeAll(
                Array.from({ length: eventsPerBulkWrite }, (_, index) =>
                  OrderPlaced.of(payloadOf(first + index)),
                ),
              )
            }),
          async close() {
            await outbox.close()
            await database.close()
          },
        }
      }),
  })

  return [
    subject('sendoff-writer-only', (database) => Outbox.writerOnly({ store: database.openStore() })),
    subject('sendoff-single-node', (database, conditions) =>
      sendoffOutbox('singleNode', database.openStore(), async () => {}, conditions),
    ),
    subject('sendoff-multi-node', (database, conditions) =>
      sendoffOutbox('multiNode', database.openStore(), async () => {}, conditions),
    ),
  ]
}

export interface Writes {
  /** Commits one order with its event. */
  single(number: number): unknown
  /** Commits one order with `eventsPerBulkWrite` events, numbered from `first` on; left out if there are none. */
  bulk?(first: number): unknown
  close(): unknown
}

/** Runs each kind of write for a while, one kind after the other. */
export async function measureWrites(
  conditions: Conditions,
  { concurrent = false, serverCpuUs }: WriteChoices,
  openWrites: (name: string, conditions: Conditions) => Promise<Writes>,
): Promise<Measurement> {
  const { seconds } = conditions

  for (const name of warmUps) {
    await warmUp(await openWrites(name, { ...conditions, synchronous: 'NORMAL' }), seconds, concurrent)
  }

  const writes = counted(await openWrites('write', conditions))
  const inTime = (_: number, ms: number) => ms < seconds * 1_000
  const before = await serverCpuUs?.()
  const one = await repeated(writes.single, inTime)
  const after = await serverCpuUs?.()
  const atOnce = concurrent && (await repeated(writes.single, inTime, concurrentWriters))
  const many = writes.bulk && (await repeated(writes.bulk, inTime))
  await writes.close()
  return {
    transactionsPerSecond: perSecond(one),
    cpuUsPerTransaction: one.cpuUs / one.calls,
    ...(before && after && { serverCpuUsPerTransaction: (after - before) / one.calls }),
    ...(atOnce && { concurrentTransactionsPerSecond: perSecond(atOnce) }),
    ...(many && { bulkEventsPerSecond: perSecond(many) * eventsPerBulkWrite }),
  }
}

/**
 * Warms up by number rather than by time: on a slow disk, code would otherwise be measured that ran too
 * rarely to be compiled. For the same reason it does not wait for the disk, or waits with many writes at
 * once.
 */
async function warmUp(opened: Writes, seconds: number, concurrent: boolean): Promise<void> {
  const writes = counted(opened)
  const isCold = (calls: number, ms: number) => calls < 10_000 * seconds && ms < 2_500 * seconds
  await repeated(writes.single, isCold, concurrent ? concurrentWriters : 1)
  if (writes.bulk) await repeated(writes.bulk, (calls) => calls < 3 * seconds)
  await writes.close()
}

/** Numbers orders and events in their order. */
function counted(writes: Writes) {
  let next = 0
  return {
    single: () => writes.single(next++),
    bulk: writes.bulk && (() => writes.bulk!((next += eventsPerBulkWrite) - eventsPerBulkWrite)),
    close: () => writes.close(),
  }
}

interface Calls extends Elapsed {
  readonly calls: number
}

async function repeated(
  call: () => unknown,
  goOn: (calls: number, ms: number) => boolean,
  atOnce = 1,
): Promise<Calls> {
  const stop = startWatch()
  const startedAt = performance.now()
  let calls = 0

  const repeat = async () => {
    do {
      await call()
      calls++
    } while (goOn(calls, performance.now() - startedAt))
  }
  await Promise.all(Array.from({ length: atOnce }, repeat))
  return { ...stop(), calls }
}

function perSecond({ calls, ms }: Calls): number {
  return calls / (ms / 1_000)
}
