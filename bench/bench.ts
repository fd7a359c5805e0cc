import { type BenchOptions, benchOptions, usage, UsageError } from './bench-options.ts'
import { measurementText, resultLines, resultTables } from './print-results.ts'
import { runRounds } from './run-rounds.ts'

// Folders are removed on exit, which a signal alone would not cause.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => process.exit(130))

try {
  await bench(benchOptions(process.argv.slice(2)))
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${usage}` : error)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

async function bench({ suiteName, suite, store, rounds, conditions, json }: BenchOptions): Promise<void> {
  const { subjects, limit } = suite
  const { driver } = conditions
  const startedAt = performance.now()

  // Progress goes to standard error, so that results can be sent elsewhere.
  const results = await runRounds({
    store: store.name,
    suite: suiteName,
    subjects,
    rounds,
    conditions,
    onMeasured: (round, subject, measurement) =>
      console.error(`round ${round} of ${rounds}  ${subject}: ${measurementText(measurement)}`),
  })

  if (json) {
    for (const line of resultLines(results)) {
      console.log(JSON.stringify({ suite: suiteName, store: store.name, driver, ...line }))
    }
    return
  }
  const comparison = limit === undefined ? '' : ` Limit: ${limit}.`
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(`\n${suiteName} on ${store.name}, ${described(conditions)}.${comparison}`)
  console.log(`${rounds} rounds of ${subjects.length} subjects in ${seconds} s.\n`)
  console.log(resultTables(results, suite))
}

function described({ driver, synchronous, events, seconds, workers }: BenchOptions['conditions']): string {
  const size = seconds === 0 ? `${events.toLocaleString('en')} events` : `${seconds} s each`
  const workerText = workers === undefined ? '' : `, ${workers} workers`
  return `driver ${driver}, synchronous=${synchronous}, ${size}${workerText}`
}
