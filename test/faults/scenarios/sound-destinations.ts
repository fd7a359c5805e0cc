import { ok } from 'node:assert/strict'
import type { FaultMode } from '../processes/node-setup.ts'
import { destinationsRun } from '../run/run-faults.ts'
import { type Diagnosed, soundRun } from './sound-run.ts'

/** A run with two destinations that has to keep every promise. The judge takes each row for an event of its own. */
export async function soundDestinations(test: Diagnosed, store: string, mode: FaultMode): Promise<void> {
  const keys = mode === 'partitioned' ? 20 : 0
  const { summary } = await soundRun(test, { ...destinationsRun, keys, store, mode })
  ok(summary.events > destinationsRun.events * 1.4, 'the run was too small to prove anything')
}
