import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { nodeArguments } from '../decorators/node-arguments.ts'
import { describeEnd, type ProcessEnd, ProcessGroup, within } from '../services/processes/process-group.ts'
import type { ReportedLine } from './result-reporter.ts'
import type { TestFileResult, TestResult } from './test-result.ts'

export interface RunTestFileOptions {
  readonly root: string
  /** File for the report of the test file's process; each test file needs its own. */
  readonly reportFile: string
  readonly environment: NodeJS.ProcessEnv
  readonly timeoutMs: number
  /** Ends the file's processes at once. */
  readonly interrupted: AbortSignal
}

/**
 * Runs one test file in a process of its own. Never throws: a file that does not load, does not end, ends
 * before its tests or has none becomes a failure under the file's name.
 */
export async function runTestFile(file: string, options: RunTestFileOptions): Promise<TestFileResult> {
  const startedAt = performance.now()
  const code = await readFile(resolve(options.root, file), 'utf8').catch(() => '')
  const group = new ProcessGroup(
    process.execPath,
    [
      ...nodeArguments(code),
      '--test-reporter',
      join(import.meta.dirname, 'result-reporter.ts'),
      '--test-reporter-destination',
      options.reportFile,
      resolve(options.root, file),
    ],
    { cwd: options.root, env: { ...options.environment, NODE_TEST_CONTEXT: undefined } },
  )
  const end = await endOf(group, options)
  const report = await readReport(options.reportFile)

  const failure = failureOfFile(end, report, options.timeoutMs)
  const tests = failure
    ? [...report.tests, { outcome: 'failed', path: [], error: failure } as const]
    : report.tests
  return { file, durationMs: performance.now() - startedAt, tests, notes: report.notes, output: group.output }
}

async function endOf(group: ProcessGroup, options: RunTestFileOptions): Promise<ProcessEnd | 'timeout'> {
  const onInterrupt = (): void => void group.signal('SIGTERM')
  options.interrupted.addEventListener('abort', onInterrupt)

  try {
    return (await within(options.timeoutMs, group.ended)) ?? 'timeout'
  } finally {
    options.interrupted.removeEventListener('abort', onInterrupt)
    // Also after a good end: a process that the test forgot would outlive the run.
    await group.stop('SIGTERM', 2_000)
  }
}

interface Report {
  readonly tests: readonly TestResult[]
  readonly unfinished: readonly string[]
  readonly notes: readonly string[]
  readonly troubles: readonly string[]
  readonly complete: boolean
}

async function readReport(path: string): Promise<Report> {
  const text = await readFile(path, 'utf8').catch(() => '')
  // Text after the last line break was cut off with its process.
  const lines = text.split('\n').slice(0, -1)
  const tests: TestResult[] = []
  const unfinished = new Set<string>()
  const notes: string[] = []
  const troubles: string[] = []
  let complete = false

  for (const line of lines) {
    const reported = JSON.parse(line) as ReportedLine
    if (reported.kind === 'begun') unfinished.add(reported.test)
    else if (reported.kind === 'over') unfinished.delete(reported.test)
    else if (reported.kind === 'result') tests.push(reported.result)
    else if (reported.kind === 'note') notes.push(reported.message)
    else if (reported.kind === 'trouble') troubles.push(reported.message)
    else complete = true
  }
  return { tests, unfinished: [...unfinished], notes, troubles, complete }
}

function failureOfFile(end: ProcessEnd | 'timeout', report: Report, timeoutMs: number): string | undefined {
  const running = report.unfinished.length > 0 ? ` Still running: ${report.unfinished.join(', ')}.` : ''

  if (end === 'timeout') {
    const what = report.complete ? 'Its tests ended, but it did not' : 'It did not end'
    return `${what} within ${timeoutMs / 1000} s.${running}`
  }
  if (!report.complete) return `It ${describeEnd(end)} before its tests were over, or has none.${running}`
  if (report.tests.length === 0) return 'There is no test in it.'

  const failed = report.tests.some((test) => test.outcome === 'failed')
  if (end.code === 0 || failed) return undefined
  return [`Its tests passed, but it ${describeEnd(end)}.`, ...report.troubles].join('\n')
}
