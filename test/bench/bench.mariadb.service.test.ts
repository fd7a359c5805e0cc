import { deepEqual, equal, match } from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import mysql from 'mysql2/promise'
import { atFullScale, bench, benchLines, subjectsOf } from './run-bench.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'

const modes = ['sendoff-single-node', 'sendoff-multi-node']

describe('the benchmarks on MariaDB', () => {
  const folder = temporaryFolder('bench-test')
  after(() => folder.remove())
  const run = { store: 'mysql', folder: folder.path }

  it('admin measures every look of an operator', atFullScale, async () => {
    const lines = await benchLines(run, 'admin', '--scale', '0.0005')

    deepEqual(subjectsOf(lines, 'p95Ms'), [
      'overview',
      'page-1',
      'page-100',
      'dead-page-1',
      'dead-page-100',
      'groups',
      'event',
      'text-search',
    ])
  })

  it('drain measures every mode and limit', async () => {
    const lines = await benchLines(run, 'drain', '--events', '300')

    deepEqual(subjectsOf(lines, 'eventsPerSecond'), [
      ...modes,
      'sendoff-multi-node-delete',
      'limit-claim-update',
      'limit-claim-delete',
      'limit-owner-update',
    ])
  })

  it('two processes can share a drain', atFullScale, async () => {
    const options = ['--events', '300', '--rounds', '1', '--processes', '2', '--only', 'multi-node']
    const { stdout, stderr, code } = await bench(run, 'drain', ...options)

    equal(code, 0, stderr)
    match(stdout, /, 2 processes\. Limit: limit-claim-update\./)
    match(stdout, /^sendoff-multi-node( +[\d,]+){3} +1( +\d+\.\d\d){2} of limit-claim-update$/m)
  })

  it('write measures one and many connections, and bulk writes', atFullScale, async () => {
    const lines = await benchLines(run, 'write', '--seconds', '0.05')

    const subjects = ['sendoff-writer-only', ...modes, 'limit-insert']
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
    deepEqual(subjectsOf(lines, 'p95Ms'), ['purge', 'purge-1m'])
  })

  it('latency and idle measure the modes that deliver', atFullScale, async () => {
    const latency = await benchLines(run, 'latency', '--seconds', '0.1')
    deepEqual(subjectsOf(latency, 'latencyP99Ms'), modes)

    const idle = await benchLines(run, 'idle', '--seconds', '0.1')
    deepEqual(subjectsOf(idle, 'statementsPerSecond'), modes)
  })

  it('growth measures tables in which other rows stand', atFullScale, async () => {
    const lines = await benchLines(run, 'growth', '--events', '300', '--scale', '0.001')

    deepEqual(
      subjectsOf(lines, 'eventsPerSecond'),
      ['', '-1m-done', '-1m-done-snapshot', '-waiting', '-leased'].map(
        (suffix) => `sendoff-multi-node${suffix}`,
      ),
    )
  })

  it('nothing is left behind', async () => {
    equal(readdirSync(folder.path).join(), '')

    const connection = await mysql.createConnection(process.env['MYSQL_URL'] ?? process.env['MARIADB_URL']!)
    const [rows] = await connection.query(`show databases like 'sendoff\\_bench%'`)
    await connection.end()
    deepEqual(rows, [])
  })
})
