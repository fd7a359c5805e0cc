import { deepEqual, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { redis } from '../../services/servers/redis/redis.ts'
import { poisonRun, usualRun } from '../run/run-faults.ts'
import { scale } from '../run/scale.ts'
import { soundRun } from './sound-run.ts'

const size = scale({
  small: { events: 700, faults: 14, durationMs: 3_000 },
  full: { events: 20_000, faults: 100, durationMs: 120_000, settleLimitMs: 300_000 },
})

// If the address of a server is given, this machine may have none that the test can harm.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('on Redis, with processes, connections and servers that come and go', { skip }, () => {
  for (const mode of ['multiNode', 'singleNode', 'singleWriter'] as const) {
    it(`every promise is kept, ${mode}`, async (test) => {
      const { summary } = await soundRun(test, { ...usualRun, ...size, store: 'redis', mode })
      ok(summary.events > size.events * 0.8, 'the run was too small to prove anything')
      deepEqual(Object.keys(summary.outages).sort(), [
        'blackHole',
        'crash',
        'cut',
        ...(mode === 'singleWriter' ? ['deleteLock'] : []),
        'holdCommit',
        'loseCommit',
        'mute',
        'restart',
        'silence',
        ...(mode === 'singleWriter' ? ['stealLock'] : []),
        'terminate',
      ])
    })
  }

  it('a poison event is DEAD and its neighbours are delivered, with four workers', async (test) => {
    await soundRun(test, { ...poisonRun, store: 'redis', mode: 'multiNode' })
  })
})
