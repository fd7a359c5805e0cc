import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { medianBounds } from '../../bench/statistics.ts'
import { bench, benchLines, subjectsOf } from './run-bench.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'

const modes = ['sendoff-single-node', 'sendoff-multi-node']

describe('the benchmarks on SQLite', () => {
  const folder = temporaryFolder('bench-test')
  after(() => folder.remove())
  const run = { store: 'sqlite', folder: folder.path }

  it('admin measures every look of an operator', async () => {
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

  it('drain measures every mode and every limit', async () => {
    const lines = await benchLines(run, 'drain', '--events', '300')

    deepEqual(subjectsOf(lines, 'eventsPerSecond'), [
      ...modes,
      'sendoff-multi-node-delete',
      'limit-claim-update',
      'limit-claim-delete',
      'limit-owner-update',
    ])
    deepEqual(subjectsOf(lines, 'cpuUsPerEvent'), subjectsOf(lines, 'eventsPerSecond'))
  })

  it('observe measures a drain with metrics and traces, and without', async () => {
    const lines = await benchLines(run, 'observe', '--events', '100')

    deepEqual(subjectsOf(lines, 'cpuUsPerEvent'), [
      'sendoff-multi-node',
      'sendoff-multi-node-again',
      'sendoff-multi-node-prometheus',
      'sendoff-multi-node-opentelemetry',
      'sendoff-multi-node-opentelemetry-record',
      'sendoff-multi-node-headers',
      'sendoff-multi-node-traced-1-percent',
      'sendoff-multi-node-traced',
    ])
  })

  it('write measures single and bulk transactions, with another driver if asked to', async () => {
    const lines = await benchLines(run, 'write', '--driver', 'better', '--seconds', '0.05')

    const subjects = ['sendoff-writer-only', ...modes, 'limit-insert']
    deepEqual(subjectsOf(lines, 'transactionsPerSecond'), subjects)
    deepEqual(subjectsOf(lines, 'bulkEventsPerSecond'), subjects)
    ok(lines.every((line) => line.driver === 'better'))
  })

  it('inbox measures messages and the purge of marks', async () => {
    const lines = await benchLines(run, 'inbox', '--seconds', '0.05', '--rounds', '1', '--scale', '0.001')

    deepEqual(subjectsOf(lines, 'transactionsPerSecond'), ['sendoff-inbox', 'limit-inbox'])
    deepEqual(subjectsOf(lines, 'p95Ms'), ['purge', 'purge-1m'])
  })

  it('latency and idle measure the modes that deliver', async () => {
    const latency = await benchLines(run, 'latency', '--seconds', '0.1')
    deepEqual(subjectsOf(latency, 'latencyP50Ms'), modes)
    deepEqual(subjectsOf(latency, 'latencyP99Ms'), modes)

    const idle = await benchLines(run, 'idle', '--seconds', '0.1')
    deepEqual(subjectsOf(idle, 'cpuMsPerSecond'), modes)
    deepEqual(subjectsOf(idle, 'statementsPerSecond'), modes)
  })

  it('steady measures arrivals at a fixed rate, and draws every second', async () => {
    const chart = join(folder.path, 'steady.svg')
    const options = ['--seconds', '1', '--rate', '50', '--only', 'multi-node-delete', '--chart', chart]
    const lines = await benchLines(run, 'steady', ...options)

    for (const metric of ['arrivalP50Ms', 'arrivalP999Ms', 'workerCpuUsPerEvent', 'workerMegabytes']) {
      deepEqual(subjectsOf(lines, metric), ['sendoff-multi-node-delete'], metric)
      ok(
        lines.every((line) => line.metric !== metric || line.median > 0),
        metric,
      )
    }
    match(readFileSync(chart, 'utf8'), /^<svg [\s\S]+p99 from arrival[\s\S]+<polyline [\s\S]+<\/svg>\n$/)
    rmSync(chart)
  })

  it('a readable table names the limit and the ratios to it', async () => {
    const chart = join(folder.path, 'chart.svg')
    const options = ['--events', '50', '--rounds', '1', '--only', 'single-node', '--chart', chart]
    const { stdout } = await bench(run, 'drain', ...options)
    match(readFileSync(chart, 'utf8'), /^<svg [\s\S]+>sendoff-single-node<[\s\S]+<rect [\s\S]+<\/svg>\n$/)
    rmSync(chart)

    match(stdout, /Limit: limit-claim-update\./)
    match(stdout, /^events\/s .*of limit-claim-update +of its own limit$/m)
    match(stdout, /^sendoff-single-node( +[\d,]+){3} +1 +\d+\.\d\d +\d+\.\d\d of limit-owner-update$/m)
  })

  it('a table of small differences shows how exact they are', async () => {
    const { stdout } = await bench(run, 'observe', '--events', '50', '--rounds', '2', '--only', '1-percent')
    match(
      stdout,
      /^sendoff-multi-node-traced-1-percent( +[\d,]+){3} +2( +\d\.\d{3} \(\d\.\d{3} to \d\.\d{3}\)){2} of sendoff-multi-node-headers$/m,
    )
  })

  it('the bounds of a median hold the true one', () => {
    deepEqual(medianBounds([3, 1, 2]), [1, 3])
    deepEqual(medianBounds([6, 5, 4, 3, 2, 1]), [1, 6])
    deepEqual(medianBounds([9, 8, 7, 6, 5, 4, 3, 2, 1]), [2, 8])
  })

  it('an invalid command prints the usage', async () => {
    const { code, stderr } = await bench(run, 'nonsense')

    equal(code, 2)
    match(stderr, /SUITE must be one of drain, destinations, ordered, write, latency, idle/)
    match(stderr, /Usage: npm run bench/)
  })

  it('nothing is left behind', () => {
    equal(readdirSync(folder.path).join(), '')
  })
})
