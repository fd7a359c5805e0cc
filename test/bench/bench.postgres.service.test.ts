import { deepEqual, equal, match } from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, describe, it } from 'node:test'
import pg from 'pg'
import { atFullScale, bench, benchLines, subjectsOf } from './run-bench.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'

const modes = ['sendoff-single-node', 'sendoff-multi-node']
const peers = ['graphile-worker', 'pg-boss']

describe('the benchmarks on PostgreSQL', () => {
  const folder = temporaryFolder('bench-test')
  const chart = join(folder.path, 'chart.svg')
  after(() => folder.remove())
  const run = { store: 'postgres', folder: folder.path }

  it('admin measures every look of an operator', atFullScale, async () => {
    const looks = [
      'overview',
      'page-1',
      'page-100',
      'dead-page-1',
      'dead-page-100',
      'groups',
      'event',
      'text-search',
    ]
    const lines = await benchLines(run, 'admin', '--scale', '0.0005')

    deepEqual(subjectsOf(lines, 'p95Ms'), [...looks, ...looks.map((look) => `${look}-stale`)])
  })

  it('operator measures pages of the dashboard, and commands', atFullScale, async () => {
    const lines = await benchLines(run, 'operator', '--scale', '0.0005', '--only', 'first-view')
    deepEqual(subjectsOf(lines, 'p95Ms'), ['dashboard-first-view'])
    const calls = await benchLines(run, 'operator', '--scale', '0.0005', '--only', 'command-status')
    deepEqual(subjectsOf(calls, 'p95Ms'), ['command-status'])
  })

  it('drain measures every mode, peer and limit', async () => {
    const lines = await benchLines(run, 'drain', '--events', '300')

    deepEqual(
      // The file does not ask for Redis, but it may be there.
      subjectsOf(lines, 'eventsPerSecond').filter((subject) => subject !== 'bullmq'),
      [
        ...modes,
        'sendoff-multi-node-delete',
        ...peers,
        'pg-transactional-outbox',
        'limit-claim-update',
        'limit-claim-delete',
        'limit-owner-update',
      ],
    )
  })

  it('two processes can share a drain', atFullScale, async () => {
    const options = ['--events', '300', '--rounds', '1', '--processes', '2', '--only', 'multi-node']
    const { stdout, stderr, code } = await bench(run, 'drain', ...options)

    equal(code, 0, stderr)
    match(stdout, /, 2 processes\. Limit: limit-claim-update\./)
    match(stdout, /^events\/s .*of limit-claim-update +of graphile-worker +of its own limit$/m)
    match(stdout, /^sendoff-multi-node( +[\d,]+){3} +1( +\d+\.\d\d){3} of limit-claim-update$/m)
  })

  it('write measures one and many connections, and bulk writes', atFullScale, async () => {
    const lines = await benchLines(run, 'write', '--seconds', '0.05')

    const subjects = ['sendoff-writer-only', ...modes, ...peers, 'limit-insert']
    for (const metric of [
      'transactionsPerSecond',
      'concurrentTransactionsPerSecond',
      'bulkEventsPerSecond',
    ]) {
      deepEqual(subjectsOf(lines, metric), subjects, metric)
    }
  })

  it('inbox measures messages and the purge of marks', atFullScale, async () => {
    const lines = await benchLines(run, 'inbox', '--seconds', '0.05', '--rounds', '1', '--scale', '0.001')

    const subjects = ['sendoff-inbox', 'limit-inbox']
    deepEqual(subjectsOf(lines, 'transactionsPerSecond'), subjects)
    deepEqual(subjectsOf(lines, 'concurrentTransactionsPerSecond'), subjects)
    deepEqual(subjectsOf(lines, 'p95Ms'), ['purge', 'purge-5m'])
  })

  it('latency measures deliveries in the same process and in another', atFullScale, async () => {
    const lines = await benchLines(run, 'latency', '--seconds', '0.1')

    const subjects = [...modes, 'sendoff-partitioned']
    deepEqual(subjectsOf(lines, 'latencyP50Ms'), subjects)
    deepEqual(subjectsOf(lines, 'acrossProcessesP50Ms'), [...subjects, ...peers])
    deepEqual(subjectsOf(lines, 'acrossProcessesP99Ms'), [...subjects, ...peers])
  })

  it('idle measures CPU time and transactions', atFullScale, async () => {
    const lines = await benchLines(run, 'idle', '--seconds', '0.1')

    deepEqual(subjectsOf(lines, 'cpuMsPerSecond'), [...modes, ...peers])
    deepEqual(subjectsOf(lines, 'idleTransactionsPerSecond'), [...modes, ...peers])
  })

  it('growth measures tables in which other rows stand', atFullScale, async () => {
    const lines = await benchLines(run, 'growth', '--events', '300', '--scale', '0.001')

    deepEqual(
      subjectsOf(lines, 'eventsPerSecond'),
      ['', '-1m-done', '-5m-done', '-snapshot', '-1m-done-snapshot', '-waiting', '-leased'].map(
        (suffix) => `sendoff-multi-node${suffix}`,
      ),
    )
  })

  it('sustained measures writing and delivering at once, and draws it', atFullScale, async () => {
    const lines = await benchLines(run, 'sustained', '--seconds', '2', '--chart', chart)

    deepEqual(subjectsOf(lines, 'tableMegabytes'), ['sendoff-multi-node'])
    match(readFileSync(chart, 'utf8'), /^<svg [\s\S]+<polyline [\s\S]+<\/svg>\n$/)
  })

  it('steady measures every mode and peer', atFullScale, async () => {
    const lines = await benchLines(run, 'steady', '--seconds', '2', '--rate', '50')

    const served = [...modes, 'sendoff-multi-node-delete', 'sendoff-partitioned', ...peers]
    const subjects = [...served, 'pg-transactional-outbox']
    for (const metric of ['arrivalP99Ms', 'workerCpuUsPerEvent', 'walBytesPerEvent', 'deadRows']) {
      deepEqual(
        subjectsOf(lines, metric).filter((subject) => subject !== 'bullmq'),
        subjects,
        metric,
      )
    }
  })

  it('strained measures a steady load under strain', atFullScale, async () => {
    const lines = await benchLines(run, 'strained', '--seconds', '2', '--rate', '50')

    deepEqual(subjectsOf(lines, 'arrivalP99Ms'), [
      'sendoff-multi-node',
      ...['failing', 'slow', 'delayed', 'snapshot', 'no-vacuum', 'purge'].map(
        (strain) => `sendoff-multi-node-${strain}`,
      ),
      ...['keys', 'one-key', 'one-key-batch'].map((keys) => `sendoff-partitioned-${keys}`),
    ])
  })

  it('nothing is left behind', async () => {
    deepEqual(
      readdirSync(folder.path).filter((name) => name !== basename(chart)),
      [],
    )

    const client = new pg.Client({ connectionString: process.env['POSTGRES_URL'] })
    await client.connect()
    const { rows } = await client.query(`select datname from pg_database where datname like 'sendoff_bench%'`)
    await client.end()
    deepEqual(rows, [])
  })
})
