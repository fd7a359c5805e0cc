import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'

interface Line {
  readonly suite: string
  readonly store: string
  readonly driver: string
  readonly subject: string
  readonly metric: string
  readonly median: number
  readonly min: number
  readonly max: number
  readonly n: number
}

const limits = ['limit-claim-update', 'limit-claim-delete', 'limit-owner-update']

describe('the benchmarks on SQLite', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'sendoff-bench-test-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('drain measures every mode and every limit', async () => {
    const lines = await jsonLines('drain', '--events', '300', '--rounds', '1')

    deepEqual(subjectsOf(lines, 'eventsPerSecond'), [
      'sendoff-single-node',
      'sendoff-multi-node',
      'sendoff-multi-node-delete',
      ...limits,
    ])
    deepEqual(subjectsOf(lines, 'cpuUsPerEvent'), subjectsOf(lines, 'eventsPerSecond'))
  })

  it('write measures single and bulk transactions, with another driver if asked to', async () => {
    const lines = await jsonLines('write', '--driver', 'better', '--seconds', '0.05', '--rounds', '1')

    const subjects = ['sendoff-writer-only', 'sendoff-single-node', 'sendoff-multi-node', 'limit-insert']
    deepEqual(subjectsOf(lines, 'transactionsPerSecond'), subjects)
    deepEqual(subjectsOf(lines, 'bulkEventsPerSecond'), subjects)
    ok(lines.every((line) => line.driver === 'better'))
  })

  it('latency and idle measure the modes that deliver', async () => {
    const latency = await jsonLines('latency', '--seconds', '0.1', '--rounds', '1')
    deepEqual(subjectsOf(latency, 'latencyP50Ms'), ['sendoff-single-node', 'sendoff-multi-node'])
    deepEqual(subjectsOf(latency, 'latencyP99Ms'), ['sendoff-single-node', 'sendoff-multi-node'])

    const idle = await jsonLines('idle', '--seconds', '0.1', '--rounds', '1')
    deepEqual(subjectsOf(idle, 'cpuMsPerSecond'), ['sendoff-single-node', 'sendoff-multi-node'])
    deepEqual(subjectsOf(idle, 'statementsPerSecond'), ['sendoff-single-node', 'sendoff-multi-node'])
  })

  it('a table for people names the limit and the ratios to it', async () => {
    const { stdout } = await bench('drain', '--events', '50', '--rounds', '1', '--only', 'single-node')

    match(stdout, /Limit: limit-claim-update\./)
    match(stdout, /^events\/s .*of limit-claim-update +of its own limit$/m)
    match(stdout, /^sendoff-single-node( +[\d,]+){3} +1 +\d+\.\d\d +\d+\.\d\d of limit-owner-update$/m)
  })

  it('a command that cannot be understood is answered with the usage', async () => {
    const { code, stderr } = await bench('nonsense')

    equal(code, 2)
    match(stderr, /SUITE must be one of drain, write, latency, idle/)
    match(stderr, /Usage: npm run bench/)
  })

  it('nothing is left behind', () => {
    equal(readdirSync(folder).join(), '')
  })

  async function jsonLines(suite: string, ...options: readonly string[]): Promise<readonly Line[]> {
    const { code, stdout, stderr } = await bench(suite, '--json', ...options)
    equal(code, 0, stderr)

    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
    for (const line of lines) {
      deepEqual(Object.keys(line), [
        'suite',
        'store',
        'driver',
        'subject',
        'metric',
        'median',
        'min',
        'max',
        'n',
      ])
      equal(line.suite, suite)
      equal(line.store, 'sqlite')
      equal(line.n, 1)
      ok(line.min <= line.median && line.median <= line.max, JSON.stringify(line))
    }
    return lines
  }

  function bench(suite: string, ...options: readonly string[]) {
    const script = join(import.meta.dirname, '..', 'bench', 'bench.ts')
    const args = [script, suite, '--store', 'sqlite', ...options]
    const settings = { env: { ...process.env, TMPDIR: folder }, timeout: 60_000 }

    return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(process.execPath, args, settings, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
      )
    })
  }
})

function subjectsOf(lines: readonly Line[], metric: string): readonly string[] {
  return lines.filter((line) => line.metric === metric).map((line) => line.subject)
}
