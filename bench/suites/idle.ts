import { setTimeout as sleep } from 'node:timers/promises'
import type { Measurement, MetricName } from '../metrics.ts'
import { startWatch } from '../statistics.ts'
import type { BenchDatabases, Conditions, RunningWorker, Subject } from '../store-bench.ts'
import { type Mode, sendoffWorker } from './sendoff-outbox.ts'

/** Measures what a started outbox costs while there is nothing to do. */
export function idleSubjects<Tx>(databases: BenchDatabases<Tx>): readonly Subject[] {
  const subject = (name: string, mode: Mode): Subject => ({
    name,
    async measure(conditions) {
      const database = await databases.create('idle', conditions)
      const start = () => sendoffWorker(databases, mode)('idle', conditions, () => {})
      const measurement = await measureIdle(conditions, start, () => database.counts())
      await database.close()
      return measurement
    },
  })

  return [subject('sendoff-single-node', 'singleNode'), subject('sendoff-multi-node', 'multiNode')]
}

/**
 * Returns what a worker of any kind uses of the CPU, and of what `counts` counts, in a second without events.
 */
export async function measureIdle(
  { seconds }: Conditions,
  start: () => Promise<RunningWorker>,
  counts: () => Promise<Measurement>,
): Promise<Measurement> {
  const worker = await start()
  // Work left by the start is not idling. PostgreSQL reports it within ten seconds.
  await sleep(Math.min(11_000, seconds * 1_000))

  const before = await counts()
  const stop = startWatch()
  await sleep(seconds * 1_000)
  const { ms, cpuUs } = stop()
  const after = await counts()
  await worker.stop()

  const perSecond = (Object.keys(after) as MetricName[]).map(
    (metric) => [metric, (after[metric]! - before[metric]!) / (ms / 1_000)] as const,
  )
  return { cpuMsPerSecond: cpuUs / ms, ...Object.fromEntries(perSecond) }
}
