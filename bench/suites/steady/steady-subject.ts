import { setTimeout as sleep } from 'node:timers/promises'
import type { Measurement } from '../../metrics.ts'
import { percentile, sharedNow, startWatch } from '../../statistics.ts'
import type { Conditions, Series, StartWorker, Subject } from '../../store-bench.ts'
import { WorkerProcesses } from '../../worker-processes.ts'
import { arrivalOf, writeOpenLoop } from './open-loop.ts'
import { SteadyRecord } from './steady-record.ts'

/** Writers and workers of one system under a steady load. */
export interface SteadySystem extends Pick<Subject, 'name' | 'service' | 'singleProcess'> {
  readonly worker: StartWorker
  /** Creates a database and opens a writer on it. */
  open(database: string, conditions: Conditions): Promise<SteadyWriter>
  /** Disturbs the run until the returned function is called. */
  disturb?(database: string, conditions: Conditions): Promise<() => Promise<void>>
  /** How much later than its arrival an event falls due. Default: not at all. */
  readonly dueAfterMs?: (number: number) => number
  /** Whether listeners fail, so that events are delivered again. */
  readonly mayRepeat?: true
}

export interface SteadyWriter {
  /** Commits an order with its event. */
  write(number: number): Promise<unknown>
  /** Reads what the server has done so far, and how large the tables are. */
  readonly gauge?: () => Promise<Gauge>
  readonly serverCpuUs?: (() => Promise<number | undefined>) | undefined
  close(): Promise<void>
}

/** Sums since the server has started, and the sizes of a moment. */
export interface Gauge {
  readonly walBytes?: number
  readonly transactions?: number
  readonly statements?: number
  readonly deadRows?: number
  readonly tableMegabytes?: number
  readonly indexMegabytes?: number
}

/** Events keep arriving for so long before the measurement: caches fill, and V8 compiles. */
const warmUpShare = 1 / 6
const longestWarmUpSeconds = 10
/** How long the workers may take to start. */
const startMs = 1_000
const patienceMs = 60_000

/**
 * Measures a system under arrivals at a fixed rate. This process writes, others deliver. The latency of an
 * event is the time from its intended arrival to the first line of its listener.
 */
export function steadySubject(system: SteadySystem): Subject {
  const { name, service, singleProcess, worker } = system
  return {
    name,
    worker,
    ...(service && { service }),
    ...(singleProcess && { singleProcess }),
    async measure(conditions, draw) {
      const writer = await system.open('steady', conditions)
      const workers = await WorkerProcesses.fork(conditions.processes)
      const undisturbed = await system.disturb?.('steady', conditions)
      try {
        const run = new SteadyRun(system, writer, workers, conditions)
        const measurement = await run.measure()
        draw?.(run.series)
        return measurement
      } finally {
        await undisturbed?.()
        await workers.end()
        await writer.close()
      }
    },
  }
}

/** Values of one second. */
interface Second {
  readonly cpuUs: number
  readonly rssMegabytes: number
  readonly writerMegabytes: number
  readonly gauge: Gauge
}

class SteadyRun {
  readonly #writer: SteadyWriter
  readonly #workers: WorkerProcesses
  readonly #conditions: Conditions
  readonly #record: SteadyRecord
  readonly #warmUpEvents: number
  readonly #schedule
  readonly #seconds: Second[] = []

  constructor(system: SteadySystem, writer: SteadyWriter, workers: WorkerProcesses, conditions: Conditions) {
    const { rate, seconds } = conditions
    const warmUpSeconds = Math.min(longestWarmUpSeconds, seconds * warmUpShare)
    this.#writer = writer
    this.#workers = workers
    this.#conditions = conditions
    this.#warmUpEvents = Math.ceil(rate * warmUpSeconds)
    const count = this.#warmUpEvents + Math.ceil(rate * seconds)
    this.#schedule = { rate, count, beginsAt: sharedNow() + startMs }
    this.#record = new SteadyRecord(this.#schedule, system.dueAfterMs ?? (() => 0), system.mayRepeat ?? false)
  }

  get series(): readonly Series[] {
    const states = this.#seconds.slice(1)
    const line = (metric: string, values: readonly number[]) => ({ metric, values })
    const lines = [
      line('p50 from arrival to listener (ms)', this.#record.percentilesFrom(this.#warmUpEvents, 0.5)),
      line('p99 from arrival to listener (ms)', this.#record.percentilesFrom(this.#warmUpEvents, 0.99)),
      line(
        'CPU of the workers (ms per second)',
        states.map(({ cpuUs }, index) => (cpuUs - this.#seconds[index]!.cpuUs) / 1_000),
      ),
      line(
        'Dead rows',
        states.flatMap(({ gauge }) => gauge.deadRows ?? []),
      ),
      line(
        'Table with its indexes (MB)',
        states.flatMap(({ gauge: { tableMegabytes: table, indexMegabytes: index } }) =>
          table === undefined ? [] : table + (index ?? 0),
        ),
      ),
      line(
        'Memory of the workers (MB)',
        states.map(({ rssMegabytes }) => rssMegabytes),
      ),
    ]
    return lines.filter(({ values }) => values.length > 0)
  }

  async measure(): Promise<Measurement> {
    await this.#workers.start('steady', 'times', ({ times }) => this.#record.delivered(times), 1_000)
    const writing = writeOpenLoop(this.#schedule, (number) => this.#writer.write(number))
    const measuring = this.#measureFrom(arrivalOf(this.#schedule, this.#warmUpEvents))
    const [, costs] = await Promise.all([writing, measuring])
    await this.#untilDelivered()
    await this.#workers.stop()
    return { ...this.#latencies(), ...costs }
  }

  async #measureFrom(startsAt: number): Promise<Measurement> {
    const { rate, seconds } = this.#conditions
    await sleep(startsAt - sharedNow())
    const before = await this.#look()
    const [serverBefore, stop] = [await this.#writer.serverCpuUs?.(), startWatch()]
    for (let second = 1; second <= seconds; second++) {
      await sleep(startsAt + second * 1_000 - sharedNow())
      await this.#look()
    }
    const { cpuUs: writerUs } = stop()
    const serverUs = (await this.#writer.serverCpuUs?.())! - serverBefore!
    const after = this.#seconds.at(-1)!

    const events = rate * seconds
    const perEvent = (sum: 'walBytes' | 'transactions' | 'statements') =>
      (after.gauge[sum]! - before.gauge[sum]!) / events
    const known = {
      workerCpuUsPerEvent: (after.cpuUs - before.cpuUs) / events,
      writerCpuUsPerEvent: writerUs / events,
      serverCpuUsPerEvent: serverUs / events,
      walBytesPerEvent: perEvent('walBytes'),
      serverTransactionsPerEvent: perEvent('transactions'),
      statementsPerEvent: perEvent('statements'),
      deadRows: after.gauge.deadRows,
      tableMegabytes: after.gauge.tableMegabytes,
      indexMegabytes: after.gauge.indexMegabytes,
      workerMegabytes: after.rssMegabytes,
      writerMegabytes: after.writerMegabytes,
      workerMegabytesGrown: after.rssMegabytes - before.rssMegabytes,
    }
    return Object.fromEntries(Object.entries(known).filter(([, value]) => Number.isFinite(value)))
  }

  async #look(): Promise<Second> {
    const [{ cpuUs, rssBytes }, gauge = {}] = await Promise.all([
      this.#workers.usage(),
      this.#writer.gauge?.(),
    ])
    const writerMegabytes = process.memoryUsage.rss() / 2 ** 20
    const second = { cpuUs, rssMegabytes: rssBytes / 2 ** 20, writerMegabytes, gauge }
    this.#seconds.push(second)
    return second
  }

  async #untilDelivered(): Promise<void> {
    const timer = new AbortController()
    const tooLate = sleep(patienceMs, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`${this.#record.missing} events were not delivered.`)
    })
    await Promise.race([this.#record.all, tooLate]).finally(() => {
      timer.abort()
      tooLate.catch(() => {})
    })
  }

  #latencies(): Measurement {
    const latencies = this.#record.latenciesFrom(this.#warmUpEvents)
    const perSecond = this.#record.percentilesFrom(this.#warmUpEvents, 0.99)
    return {
      arrivalP50Ms: percentile(latencies, 0.5),
      arrivalP99Ms: percentile(latencies, 0.99),
      arrivalP999Ms: percentile(latencies, 0.999),
      worstSecondP99Ms: Math.max(...perSecond),
      p99Trend: this.#trend(latencies),
    }
  }

  // Compares the last part with the second, each a tenth of the run: of ten minutes, a minute.
  #trend(latencies: readonly number[]): number {
    const part = Math.max(1, Math.floor(latencies.length / 10))
    const p99 = (start: number) => percentile(latencies.slice(start, start + part), 0.99)
    return p99(latencies.length - part) / p99(part)
  }
}
