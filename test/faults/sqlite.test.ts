import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../services/temporary-folder.ts'
import { faultStores } from './fault-stores.ts'
import { type FaultRunOptions, runFaults, usualRun } from './run-faults.ts'
import { runSoak } from './run-soak.ts'
import { scale, testSeed } from './scale.ts'

// Ended from outside, this process takes its children along as it does at its own end.
process.once('SIGTERM', () => process.exit(1))

describe('on SQLite, with processes that are killed, stopped and restarted', () => {
  for (const mode of ['multiNode', 'singleNode'] as const) {
    it(`every promise is kept, ${mode}`, async (test) => {
      const size = scale({
        small: {},
        full: { events: 20_000, faults: 60, durationMs: 60_000, settleLimitMs: 180_000 },
      })
      const { summary } = await soundRun(test, { ...usualRun, ...size, mode })
      ok(summary.events > (size.events ?? usualRun.events) * 0.8, 'the run was too small to say anything')
    })

    it(`a poison event is DEAD and its neighbours are delivered, with four workers, ${mode}`, async (test) => {
      await soundRun(test, {
        ...usualRun,
        mode,
        events: scale({ small: 120, full: 1_000 }),
        faults: 0,
        durationMs: scale({ small: 1_000, full: 10_000 }),
        writers: { only: 1, delivering: 0 },
        behaviours: { succeed: 9, slow: 1 },
        poisonPerWriter: 3,
        // What is under suspicion runs one by one, and everything else waits for it.
        marginMs: 30_000,
        leaseMs: 500,
        maxDeliveries: 5,
      })
    })
  }
})

describe('soak', () => {
  it('leaves nothing behind in memory, whatever listeners do', async (test) => {
    const folder = temporaryFolder('soak')
    test.after(() => folder.remove())
    const seed = testSeed()
    test.diagnostic(`seed ${seed}`)
    const durationMs = scale({ small: 6_500, full: 600_000 })
    const { before, after, troubles, metrics, written } = await runSoak({
      location: faultStores['sqlite']!.location(folder.path),
      durationMs,
      seed,
    })
    const numbers = `seed ${seed}, ${written} events: ${JSON.stringify({ before, after, metrics })}`
    test.diagnostic(numbers)

    deepEqual(troubles, [])
    ok(written > durationMs / 20, `the load was too small to say anything; ${numbers}`)
    for (const { deliveries, envelopes, queued } of [before, after]) {
      deepEqual({ deliveries, envelopes, queued }, { deliveries: 0, envelopes: 0, queued: 0 }, numbers)
    }
    for (const [name, count] of Object.entries(after.resources)) {
      // A poll or a settlement that happens to be under way has a timer of its own.
      ok(count <= (before.resources[name] ?? 0) + 2, `there are ${count} of ${name}; ${numbers}`)
    }
    ok(after.heapBytes < before.heapBytes + 4_000_000, `the heap has grown; ${numbers}`)
  })
})

async function soundRun(
  test: { diagnostic(message: string): void },
  options: Omit<FaultRunOptions, 'store' | 'seed'>,
) {
  const seed = testSeed()
  test.diagnostic(`seed ${seed}`)
  const run = await runFaults({ ...options, store: 'sqlite', seed }).catch((cause: unknown) => {
    throw new Error(`The run with seed ${seed} could not be judged.`, { cause })
  })
  test.diagnostic(`seed ${seed}, ${Math.round(run.durationMs)} ms: ${JSON.stringify(run.summary)}`)
  // A few of each rule: many of one must not hide one of another.
  const told = Object.entries(Object.groupBy(run.violations, ({ rule }) => rule)).flatMap(
    ([rule, violations = []]) => [
      `${rule}: ${violations.length} times`,
      ...violations.slice(0, 4).map(({ message }) => `  ${message}`),
    ],
  )
  equal(
    run.violations.length,
    0,
    `With seed ${seed}, ${run.violations.length} violations:\n${told.join('\n')}`,
  )
  return run
}
