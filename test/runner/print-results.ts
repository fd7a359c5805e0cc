import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { countTests, type TestCounts, type TestFileResult, type TestResult } from './test-result.ts'

/**
 * Returns the text that is printed as soon as a file has run: a line, the notes of its tests if they are wanted
 * or one has failed, and its failures.
 */
export function progress(result: TestFileResult, root: string, withNotes: boolean): string {
  const failed = failures([result], root)
  const notes = withNotes || failed.length > 0 ? result.notes : []
  return [progressLine(result), ...notes.map((note) => `      ${note}`), ...failed].join('\n')
}

function progressLine({ file, tests, durationMs }: TestFileResult): string {
  const counts = countTests(tests)
  const mark = counts.failed > 0 ? 'FAIL' : counts.passed > 0 ? 'ok  ' : 'skip'
  return `${mark}  ${file}  (${nonZero(counts)}, ${duration(durationMs)})`
}

/** Returns the text that is printed at the end of a run. Its last line is `N passed, N failed, N skipped`. */
export function summary(results: readonly TestFileResult[], durationMs: number, root: string): string {
  const counts = countTests(results.flatMap((result) => result.tests))
  return [
    ...section('SKIPPED', skips(results)),
    ...section('FAILED', failures(results, root)),
    '',
    `${results.length} test files in ${duration(durationMs)}`,
    countsLine(counts),
  ].join('\n')
}

export function countsLine({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines]
}

function skips(results: readonly TestFileResult[]): readonly string[] {
  return results.flatMap(({ file, tests }) =>
    tests
      .filter((test) => test.outcome === 'skipped')
      .map((test) => `  ${nameOf(file, test)}: ${test.reason ?? 'no reason given'}`),
  )
}

function failures(results: readonly TestFileResult[], root: string): readonly string[] {
  return results.flatMap(({ file, tests, output }) => {
    const failed = tests.filter((test) => test.outcome === 'failed')
    if (failed.length === 0) return []

    const described = failed.flatMap((test) => [
      `  ${nameOf(file, test)}`,
      ...(test.location === undefined ? [] : [`    at ${relative(root, test.location)}`]),
      indent(test.error ?? 'no error given'),
      '',
    ])
    const printed = stripVTControlCharacters(output).trimEnd()
    return printed === '' ? described : [...described, `  Output of ${file}:`, indent(printed), '']
  })
}

function nameOf(file: string, test: TestResult): string {
  return [file, ...test.path].join(' > ')
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '    ')
}

function nonZero(counts: TestCounts): string {
  const parts = Object.entries(counts).filter(([, count]) => count > 0)
  return parts.map(([outcome, count]) => `${count} ${outcome}`).join(', ') || 'no tests'
}

function duration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}
