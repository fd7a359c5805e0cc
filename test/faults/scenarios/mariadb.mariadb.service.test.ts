import { deepEqual, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { partitionCount } from '../../../packages/sendoff/src/store/partition-of.ts'
import { mariadb } from '../../services/servers/mariadb/mariadb.ts'
import { partitionedRun, poisonRun, usualRun } from '../run/run-faults.ts'
import { scale } from '../run/scale.ts'
import { soundRun } from './sound-run.ts'

const size = scale({
  small: { events: 1_000, faults: 12, durationMs: 4_000 },
  full: { events: 20_000, faults: 100, durationMs: 120_000, settleLimitMs: 300_000 },
})

const partitionedSize = scale({
  // Restarting the server takes most of the time of such a run.
  small: {
    events: 800,
    faults: 11,
    durationMs: 3_000,
    harms: ['terminate', 'cut', 'silence', 'mute', 'blackHole', 'holdCommit', 'loseCommit'],
  },
  full: { events: 20_000, faults: 80, durationMs: 100_000, settleLimitMs: 300_000, keys: 200 },
})

// If the address of a server is given, this machine may have none that the test can harm.
const skip = !(await mariadb.find()) && 'MariaDB itself is not on this machine'

describe('on MariaDB, with processes, sessions, connections and servers that come and go', { skip }, () => {
  for (const mode of ['multiNode', 'singleNode'] as const) {
    it(`every promise is kept, ${mode}`, async (test) => {
      const { summary } = await soundRun(test, { ...usualRun, ...size, store: 'mariadb', mode })
      ok(summary.events > size.events * 0.8, 'the run was too small to prove anything')
      ok(summary.unknownEnds.kept >= scale({ small: 0, full: 5 }), 'too few replies to commits were lost')
      deepEqual(Object.keys(summary.outages).sort(), [
        'blackHole',
        'crash',
        'cut',
        'holdCommit',
        'loseCommit',
        'mute',
        'restart',
        'silence',
        'terminate',
      ])
    })
  }

  it('a poison event is DEAD and its neighbours are delivered, with four workers', async (test) => {
    await soundRun(test, { ...poisonRun, store: 'mariadb', mode: 'multiNode' })
  })

  it('every promise and the order of each key are kept, partitioned', async (test) => {
    const run = { ...partitionedRun, ...partitionedSize, store: 'mariadb', mode: 'partitioned' } as const
    const { summary } = await soundRun(test, run)
    ok(summary.events > partitionedSize.events * 0.8, 'the run was too small to prove anything')
    ok(summary.ownerChanges > partitionCount, 'no partition changed its owner')
  })
})
