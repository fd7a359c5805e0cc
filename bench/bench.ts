import { writeFile } from 'node:fs/promises'
import type { LaunchedServices } from '../test/services/launcher/launcher.ts'
import { withServices } from '../test/services/launcher/launcher.ts'
import { type BenchOptions, benchOptions, usage, UsageError } from './bench-options.ts'
import { barCharts } from './charts/bar-charts.ts'
import { panelsOf, stackedCharts } from './charts/stacked-charts.ts'
import { measurementText, resultLines, resultPanels, resultTables } from './print-results.ts'
import { runRounds } from './run-rounds.ts'
import type { Series, Subject } from './store-bench.ts'

try {
  const options = benchOptions(process.argv.slice(2))
  await withServices(servicesOf(options), (launched) => bench(options, launched))
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${usage}` : error)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

async function bench(options: BenchOptions, { environment, missing }: LaunchedServices): Promise<void> {
  const { suiteName, suite, store, rounds, conditions, json } = options
  const startedAt = performance.now()
  // The measuring processes find the services through the same variables as tests.
  Object.assign(process.env, environment)
  for (const { service, reason } of missing) {
    if (store.services?.includes(service))
      throw new Error(`${store.name} needs ${service.name}, but ${reason}.`)
  }
  const subjects = suite.subjects.filter((subject) => isMeasurable(subject, options, missing))

  const drawn = new Map<string, readonly Series[]>()
  // Progress goes to standard error, so that results can be redirected.
  const results = await runRounds({
    store,
    suiteName,
    suite: { ...suite, subjects },
    rounds,
    conditions,
    onMeasured: (round, subject, measurement) =>
      console.error(`round ${round} of ${rounds}  ${subject}: ${measurementText(measurement)}`),
    onDrawn: (subject, series) => drawn.set(subject, series),
  })

  if (conditions.chart !== undefined && !suite.drawsItself) {
    const chart = suite.drawsSeconds
      ? stackedCharts(described(options), panelsOf(drawn))
      : barCharts(described(options), resultPanels(results))
    await writeFile(conditions.chart, chart)
  }
  if (json) {
    for (const line of resultLines(results)) {
      const { driver } = conditions
      console.log(JSON.stringify({ suite: suiteName, store: store.name, driver, ...line }))
    }
    return
  }
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(`\n${described(options)}`)
  console.log(`${rounds} rounds of ${subjects.length} subjects in ${seconds} s.\n`)
  console.log(resultTables(results, suite))
}

function servicesOf({ store, suite }: BenchOptions) {
  return [...new Set([...(store.services ?? []), ...suite.subjects.flatMap(({ service }) => service ?? [])])]
}

function isMeasurable(
  { name, service, singleProcess }: Subject,
  { conditions: { processes } }: BenchOptions,
  missing: LaunchedServices['missing'],
): boolean {
  const lacking = missing.find((each) => each.service === service)
  if (lacking !== undefined) {
    console.error(
      `SKIPPED ${name}: it needs ${lacking.service.name}, but ${lacking.reason}. ` +
        `Set ${lacking.service.urlVariable} to use one that runs.`,
    )
  } else if (singleProcess && processes > 1) {
    console.error(`SKIPPED ${name}: it delivers in one process at a time, not in ${processes}.`)
  }
  return lacking === undefined && !(singleProcess && processes > 1)
}

function described({ suiteName, suite, store, conditions }: BenchOptions): string {
  const { limit } = suite
  const { driver, synchronous, events, seconds, rate, workers, processes } = conditions
  const details = [
    `driver ${driver}`,
    ...(store.name === 'sqlite' ? [`synchronous=${synchronous}`] : []),
    seconds === 0 ? `${events.toLocaleString('en')} events` : `${seconds} s each`,
    ...(suite.drawsSeconds ? [`${rate} transactions/s`] : []),
    ...(workers === undefined ? [] : [`${workers} workers`]),
    ...(processes === 1 ? [] : [`${processes} processes`]),
  ]
  return `${suiteName} on ${store.name}, ${details.join(', ')}.${limit === undefined ? '' : ` Limit: ${limit}.`}`
}
