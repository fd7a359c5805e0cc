import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'
import type { TestResult } from './test-result.ts'

/** One report of a test process, as a line of JSON. The `end` is missing if the process ended early. */
export type ReportedLine =
  | { readonly kind: 'begun' | 'over'; readonly test: string }
  | { readonly kind: 'result'; readonly result: TestResult }
  /** A message of a test's `diagnostic`, such as what it has measured. */
  | { readonly kind: 'note'; readonly message: string }
  /** An error outside of any test. */
  | { readonly kind: 'trouble'; readonly message: string }
  | { readonly kind: 'end' }

// Node's runner tells its own counts in the same way as tests tell theirs.
const countOfNode = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

/**
 * A reporter for node's test runner that writes what `readReport` reads.
 *
 * It reports only leaves. A suite, or a test with tests inside, gets a result of its own only if it failed on
 * its own or was skipped as a whole.
 */
async function* resultReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const path: string[] = []
  // How many results came at each depth since the last one above it: its children.
  const children: number[] = []

  for await (const event of events) {
    switch (event.type) {
      case 'test:dequeue':
        yield line({ kind: 'begun', test: identify(event.data) })
        break
      case 'test:complete':
        yield line({ kind: 'over', test: identify(event.data) })
        break
      case 'test:diagnostic':
        if (event.data.message.startsWith('Error: ')) {
          yield line({ kind: 'trouble', message: event.data.message })
        } else if (!countOfNode.test(event.data.message)) {
          yield line({ kind: 'note', message: event.data.message })
        }
        break
      case 'test:start':
        path[event.data.nesting] = event.data.name
        break
      case 'test:pass':
      case 'test:fail': {
        const { nesting } = event.data
        const isLeaf = event.data.details.type !== 'suite' && !children[nesting + 1]
        children[nesting + 1] = 0
        children[nesting] = (children[nesting] ?? 0) + 1

        const result = resultOf(event, [...path.slice(0, nesting), event.data.name])
        if (isLeaf || result.outcome === 'skipped' || failedByItself(event)) {
          yield line({ kind: 'result', result })
        }
      }
    }
  }
  yield line({ kind: 'end' })
}

// The test runner accepts a reporter only as a default export.
export { resultReporter as default }

type ResultEvent = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

function resultOf(event: ResultEvent, path: readonly string[]): TestResult {
  const { data } = event
  const skip = data.skip ?? data.todo
  if (skip !== undefined && skip !== false) {
    const reason = typeof skip === 'string' && skip !== '' ? skip : data.todo ? 'to do' : 'no reason given'
    return { outcome: 'skipped', path, reason }
  }
  if (event.type === 'test:pass') return { outcome: 'passed', path }

  const location = data.file === undefined ? {} : { location: `${data.file}:${data.line}:${data.column}` }
  return { outcome: 'failed', path, error: describeError(event.data.details.error), ...location }
}

function describeError(error: Error): string {
  const cause = error.cause ?? error
  const text = typeof cause === 'string' ? cause : inspect(cause, { depth: 8, maxStringLength: 10_000 })
  // Node's own frames say nothing about the test.
  return text.replaceAll(/\n +at .*\(?node:(?:internal\/|async_hooks).*?(?= \{\n|\n|$)/g, '')
}

function failedByItself(event: ResultEvent): boolean {
  if (event.type === 'test:pass') return false
  const { failureType } = event.data.details.error as { failureType?: string }
  return failureType !== 'subtestsFailed'
}

function identify({ name, line, column }: { name: string; line?: number; column?: number }): string {
  return `${name} (${line}:${column})`
}

function line(reported: ReportedLine): string {
  return `${JSON.stringify(reported)}\n`
}
