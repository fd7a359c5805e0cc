import { deepEqual, equal, match } from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { atFullScale, bench, benchLines, subjectsOf } from './run-bench.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'

const modes = ['sendoff-single-node', 'sendoff-multi-node']

describe('the benchmarks on Redis', () => {
  const folder = temporaryFolder('bench-test')
  after(() => folder.remove())
  const run = { store: 'redis', folder: folder.path }

  it('drain measures every mode, and BullMQ on the same server', async () => {
    const options = ['--events', '300', '--rounds', '1']
    const { stdout, stderr, code } = await bench(run, 'drain', ...options)

    equal(code, 0, stderr)
    for (const subject of [...modes, 'sendoff-multi-node-delete']) {
      match(stdout, new RegExp(`^${subject}( +[\\d,]+){3} +1 +\\d+\\.\\d\\d$`, 'm'))
    }
    match(stdout, /^bullmq( +[\d,]+){3} +1$/m)
  })

  it(
    'write measures one and many transactions at once, and bulk writes, by the other client as well',
    atFullScale,
    async () => {
      const lines = await benchLines(run, 'write', '--seconds', '0.05', '--driver', 'redis')
      for (const metric of [
        'transactionsPerSecond',
        'concurrentTransactionsPerSecond',
        'bulkEventsPerSecond',
      ]) {
        deepEqual(subjectsOf(lines, metric), ['sendoff-writer-only', ...modes], metric)
      }
    },
  )

  it('idle measures the modes that deliver', atFullScale, async () => {
    const lines = await benchLines(run, 'idle', '--seconds', '0.1')
    deepEqual(subjectsOf(lines, 'statementsPerSecond'), modes)
  })

  it('outage measures what writes take while the destination is away, and before', atFullScale, async () => {
    const lines = await benchLines(run, 'outage', '--seconds', '0.3', '--only', 'refused')
    for (const metric of ['outageP50Ratio', 'outageP95Ratio', 'outageSendsPerSecond']) {
      deepEqual(subjectsOf(lines, metric), ['sendoff-single-writer-refused'], metric)
    }
  })

  it('nothing is left behind', async () => {
    equal(readdirSync(folder.path).join(), '')

    const client = new Redis(process.env['REDIS_URL']!)
    deepEqual(await client.keys('*sendoff-bench-*'), [])
    client.disconnect()
  })
})
