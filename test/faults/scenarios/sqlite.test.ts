import { deepEqual, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { partitionCount } from '../../../packages/sendoff/src/store/partition-of.ts'
import { temporaryFolder } from '../../services/machine/temporary-folder.ts'
import { orderedRun, partitionedRun, poisonRun, usualRun } from '../run/run-faults.ts'
import { runSoak } from '../run/run-soak.ts'
import { scale, testSeed } from '../run/scale.ts'
import { soundRun } from './sound-run.ts'
import { sqliteFaultStore } from '../stores/sqlite-fault-store.ts'

describe('on SQLite, with processes that are killed, stopped and restarted', () => {
  for (const mode of ['multiNode', 'singleNode'] as const) {
    it(`every promise is kept, ${mode}`, async (test) => {
      const size = scale({
        small: {},
        full: { events: 20_000, faults: 60, durationMs: 60_000, settleLimitMs: 180_000 },
      })
      const { summary } = await soundRun(test, { ...usualRun, ...size, store: 'sqlite', mode })
      ok(summary.events > (size.events ?? usualRun.events) * 0.8, 'the run was too small to prove anything')
    })

    it(`a poison event is DEAD and its neighbours are delivered, with four workers, ${mode}`, async (test) => {
      await soundRun(test, { ...poisonRun, store: 'sqlite', mode })
    })
  }

  it('every promise and the order of each key are kept, partitioned', async (test) => {
    const size = scale({
      small: {},
      full: { events: 20_000, faults: 60, durationMs: 60_000, settleLimitMs: 180_000, keys: 200 },
    })
    const { summary } = await soundRun(test, {
      ...partitionedRun,
      ...size,
      store: 'sqlite',
      mode: 'partitioned',
    })
    ok(
      summary.events > (size.events ?? partitionedRun.events) * 0.8,
      'the run was too small to prove anything',
    )
    ok(summary.ownerChanges > partitionCount, 'no partition changed its owner')
  })

  it('a poison event is DEAD and the events behind it are delivered, partitioned', async (test) => {
    await soundRun(test, { ...poisonRun, keys: 20, store: 'sqlite', mode: 'partitioned' })
  })

  it('every promise and the order of all events are kept, ordered', async (test) => {
    const size = scale({
      small: {},
      full: { events: 2_000, faults: 40, durationMs: 40_000, settleLimitMs: 180_000 },
    })
    await soundRun(test, { ...orderedRun, ...size, store: 'sqlite', mode: 'ordered' })
  })
})

describe('soak', () => {
  it('leaves nothing in memory, whatever listeners do', async (test) => {
    const folder = temporaryFolder('soak')
    test.after(() => folder.remove())
    const seed = testSeed()
    test.diagnostic(`seed ${seed}`)
    const durationMs = scale({ small: 6_500, full: 600_000 })
    const { location } = await sqliteFaultStore.site(folder.path, { workers: [], writers: [] })
    const { before, after, troubles, metrics, written } = await runSoak({ location, durationMs, seed })
    const numbers = `seed ${seed}, ${written} events: ${JSON.stringify({ before, after, metrics })}`
    test.diagnostic(numbers)

    deepEqual(troubles, [])
    ok(written > durationMs / 20, `the load was too small to prove anything; ${numbers}`)
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
