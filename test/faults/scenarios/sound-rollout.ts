import { ok } from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { firstRelease } from '../releases/first-release.ts'
import type { FaultMode } from '../processes/node-setup.ts'
import { partitionedRun, rolloutHarms, usualRun } from '../run/run-faults.ts'
import { scale } from '../run/scale.ts'
import { soundRun } from './sound-run.ts'

/**
 * A deployment of new code beside the first release, which has to keep every promise. Processes of both write
 * and deliver, are killed and restarted, and migrations are killed in their middle.
 */
export async function soundRollout(test: TestContext, store: string, mode: FaultMode): Promise<void> {
  const oldRelease = await firstRelease()
  if (typeof oldRelease === 'string') return test.skip(oldRelease)

  const size = scale({
    small: { events: 400, faults: 8, durationMs: 3_000, workers: 3 },
    full: { events: 20_000, faults: 80, durationMs: 90_000, settleLimitMs: 180_000 },
  })
  const { summary, rollout } = await soundRun(test, {
    ...(mode === 'partitioned' ? partitionedRun : usualRun),
    harms: rolloutHarms,
    ...size,
    store,
    mode,
    oldRelease,
  })
  test.diagnostic(JSON.stringify(rollout))
  ok(summary.events > size.events * 0.8, 'the run was too small to prove anything')
  ok(rollout.oldStarts > 4, 'no process had the old code')
  ok(rollout.killedMigrations > 0, 'no migration was killed')
  if (process.env['SENDOFF_TEST_SCALE'] === 'full') ok(rollout.oldRestarts > 5, 'no old process came back')
}
