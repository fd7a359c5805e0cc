import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Outbox, type WriterOutbox } from 'sendoff'
import { OrderPlaced, payloadOf } from '../bench-event.ts'
import { stackedCharts } from '../charts/stacked-charts.ts'
import { percentile, sharedNow } from '../statistics.ts'
import type { BenchDatabase, BenchDatabases, Conditions, Subject } from '../store-bench.ts'
import { WorkerProcesses } from '../worker-processes.ts'
import { sendoffWorker } from './sendoff-outbox.ts'

const writers = 8

/** How large the outbox's table is, and how much of that is garbage. */
export interface TableState {
  readonly deadRows: number
  readonly megabytes: number
}

/**
 * One process commits orders with their events on eight connections as fast as it can. Another delivers them,
 * for a minute.
 */
export function sustainedSubject<Tx>(
  databases: BenchDatabases<Tx>,
  tableState: (database: string, conditions: Conditions) => Promise<TableState>,
): Subject {
  return {
    name: 'sendoff-multi-node',
    worker: sendoffWorker(databases, 'multiNode'),
    async measure(conditions) {
      const database = await databases.create('sustained', conditions)
      const run = new SustainedRun()
      const workers = await WorkerProcesses.fork(1)
      await workers.start('sustained', 'times', ({ times }) => run.delivered(times))

      const outbox = await Outbox.writerOnly({ store: database.openStore() }).start()
      const until = sharedNow() + conditions.seconds * 1_000
      const writing = Array.from({ length: writers }, () => writeUntil(until, run, outbox, database))
      for (let second = 1; second <= conditions.seconds; second++) {
        await sleep(until - (conditions.seconds - second) * 1_000 - sharedNow())
        run.secondPassed(await tableState('sustained', conditions))
      }
      await Promise.all(writing)
      await run.allDelivered()
      await outbox.close()
      await workers.stop()
      await workers.end()
      await database.close()

      if (conditions.chart !== undefined) await draw(conditions.chart, run.seconds)
      return run.measurement(conditions.seconds)
    },
  }
}

async function writeUntil<Tx>(
  until: number,
  run: SustainedRun,
  outbox: WriterOutbox<Tx>,
  database: BenchDatabase<Tx>,
): Promise<void> {
  while (sharedNow() < until) {
    const number = run.nextNumber()
    await outbox.transaction(async (tx) => {
      // Known before the event can be delivered.
      outbox.txContext.afterCommit(() => run.committed(number, sharedNow()))
      await database.insertOrder(tx, number)
      await outbox.write(OrderPlaced, payloadOf(number))
    })
  }
}

interface Second extends TableState {
  readonly written: number
  readonly delivered: number
  readonly p50Ms: number
  readonly p99Ms: number
}

class SustainedRun {
  readonly seconds: Second[] = []
  readonly #committedAt: number[] = []
  readonly #startedAt: number[] = []
  readonly #latencies: number[] = []
  #started = 0
  #committed = 0
  #next = 0
  #lastSecond = { committed: 0, started: 0, latencies: 0 }
  #onDelivered = () => {}

  nextNumber(): number {
    return this.#next++
  }

  committed(number: number, at: number): void {
    this.#committedAt[number] = at
    this.#committed++
    this.#pair(number)
  }

  /** Records deliveries: the number of each event and the time of its delivery in turn. */
  delivered(times: readonly number[]): void {
    for (let index = 0; index < times.length; index += 2) {
      const number = times[index]!
      if (this.#startedAt[number] !== undefined) throw new Error(`Event ${number} was delivered twice.`)
      this.#startedAt[number] = times[index + 1]!
      this.#started++
      this.#pair(number)
    }
    this.#onDelivered()
  }

  secondPassed(state: TableState): void {
    const last = this.#lastSecond
    const latencies = this.#latencies.slice(last.latencies)
    this.seconds.push({
      ...state,
      written: this.#committed - last.committed,
      delivered: this.#started - last.started,
      p50Ms: latencies.length === 0 ? 0 : percentile(latencies, 0.5),
      p99Ms: latencies.length === 0 ? 0 : percentile(latencies, 0.99),
    })
    this.#lastSecond = {
      committed: this.#committed,
      started: this.#started,
      latencies: this.#latencies.length,
    }
  }

  async allDelivered(): Promise<void> {
    while (this.#started < this.#committed) {
      await new Promise<void>((resolve) => (this.#onDelivered = resolve))
    }
  }

  measurement(seconds: number) {
    const { deadRows, megabytes } = this.seconds.at(-1)!
    return {
      eventsPerSecond: this.#committed / seconds,
      acrossProcessesP50Ms: percentile(this.#latencies, 0.5),
      acrossProcessesP99Ms: percentile(this.#latencies, 0.99),
      deadRows,
      tableMegabytes: megabytes,
    }
  }

  // Either report can come first.
  #pair(number: number): void {
    const [committedAt, startedAt] = [this.#committedAt[number], this.#startedAt[number]]
    if (committedAt !== undefined && startedAt !== undefined) this.#latencies.push(startedAt - committedAt)
  }
}

async function draw(file: string, seconds: readonly Second[]): Promise<void> {
  const line = (name: string, pick: (second: Second) => number) => ({ name, values: seconds.map(pick) })
  const svg = stackedCharts(
    `Writing and delivering at once: ${writers} connections write, one other process delivers`,
    [
      {
        title: 'Events per second',
        lines: [line('written', ({ written }) => written), line('delivered', ({ delivered }) => delivered)],
      },
      {
        title: 'From commit to listener (ms)',
        lines: [line('p50', ({ p50Ms }) => p50Ms), line('p99', ({ p99Ms }) => p99Ms)],
      },
      { title: 'Dead rows in the outbox table', lines: [line('dead rows', ({ deadRows }) => deadRows)] },
      {
        title: 'Outbox table with its indexes, DONE rows kept (MB)',
        lines: [line('MB', ({ megabytes }) => megabytes)],
      },
    ],
  )
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, svg)
}
