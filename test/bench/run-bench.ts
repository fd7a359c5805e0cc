import { deepEqual, equal, ok } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'

/** A line of the results as JSON. */
export interface BenchLine {
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

export interface BenchRun {
  readonly store: string
  /** Folder for temporary files of the run. */
  readonly folder: string
}

/** Options of tests that are too long for every run: `npm run test:full` has them. SQLite tries every suite. */
export const atFullScale = {
  skip: process.env['SENDOFF_TEST_SCALE'] !== 'full' && 'Only at full scale.',
}

/** Runs a suite once with `--json`, and checks what holds for every line. */
export async function benchLines(
  run: BenchRun,
  suite: string,
  ...options: readonly string[]
): Promise<readonly BenchLine[]> {
  const { code, stdout, stderr } = await bench(run, suite, '--json', '--rounds', '1', ...options)
  equal(code, 0, stderr)

  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as BenchLine)
  const keys = ['suite', 'store', 'driver', 'subject', 'metric', 'median', 'min', 'max', 'n']
  for (const line of lines) {
    deepEqual(Object.keys(line), keys)
    equal(line.suite, suite)
    equal(line.store, run.store)
    equal(line.n, 1)
    ok(line.min <= line.median && line.median <= line.max, JSON.stringify(line))
  }
  return lines
}

export function bench({ store, folder }: BenchRun, suite: string, ...options: readonly string[]) {
  const script = join(import.meta.dirname, '../../bench/bench.ts')
  const args = [script, suite, '--store', store, ...options]
  const settings = { env: { ...process.env, TMPDIR: folder }, timeout: 120_000 }

  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, args, settings, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    )
  })
}

export function subjectsOf(lines: readonly BenchLine[], metric: string): readonly string[] {
  return lines.filter((line) => line.metric === metric).map((line) => line.subject)
}
