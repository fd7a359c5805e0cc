/** The result of one test file. */
export interface TestFileResult {
  readonly file: string
  readonly durationMs: number
  readonly tests: readonly TestResult[]
  /** What its tests have measured, and how to repeat them, in their words. */
  readonly notes: readonly string[]
  /** The end of the output of the file and its processes. */
  readonly output: string
}

/**
 * The result of one test, or of a file or suite as a whole if it failed or was skipped outside of its tests.
 */
export interface TestResult {
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** From the outermost suite to the test. */
  readonly path: readonly string[]
  /** Why it was skipped. */
  readonly reason?: string
  /** The error in full. */
  readonly error?: string
  /** `file:line:column`. */
  readonly location?: string
}

export interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

export function countTests(tests: readonly TestResult[]): TestCounts {
  const count = (outcome: TestResult['outcome']) => tests.filter((test) => test.outcome === outcome).length
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') }
}
