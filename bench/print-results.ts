import type { Results } from './run-rounds.ts'
import { median } from './statistics.ts'
import { type Measurement, type MetricName, metrics, type Suite } from './store-bench.ts'

export interface ResultLine {
  readonly subject: string
  readonly metric: MetricName
  readonly median: number
  readonly min: number
  readonly max: number
  readonly n: number
}

/** What was measured of each subject, summed up for each metric. */
export function resultLines(results: Results): readonly ResultLine[] {
  return metricsOf(results).flatMap((metric) =>
    [...results].map(([subject, measurements]) => {
      const values = valuesOf(measurements, metric)
      return {
        subject,
        metric,
        median: rounded(median(values), metric),
        min: rounded(Math.min(...values), metric),
        max: rounded(Math.max(...values), metric),
        n: values.length,
      }
    }),
  )
}

/** A table for each metric, for people. */
export function resultTables(results: Results, { limit, subjects }: Suite): string {
  const haveOwnLimits = subjects.some(({ ownLimit }) => ownLimit !== undefined)
  const headers = [
    ...(limit === undefined ? [] : [`of ${limit}`]),
    ...(haveOwnLimits ? ['of its own limit'] : []),
  ]

  const tables = metricsOf(results).map((metric) => {
    const lines = resultLines(results).filter((line) => line.metric === metric)
    const rows = lines.map((line) => {
      const { ownLimit } = subjects.find(({ name }) => name === line.subject)!
      const ratio = ratioOf(results, metric, line.subject, limit)
      const ownRatio = ratioOf(results, metric, line.subject, ownLimit)
      return [
        line.subject,
        ...[line.median, line.min, line.max].map((value) => formatted(value, metric)),
        String(line.n),
        ...(limit === undefined ? [] : [ratio?.toFixed(2) ?? '']),
        ...(haveOwnLimits ? [ownRatio === undefined ? '' : `${ownRatio.toFixed(2)} of ${ownLimit}`] : []),
      ]
    })
    return table([[metrics[metric].unit, 'median', 'min', 'max', 'n', ...headers], ...rows])
  })
  return tables.join('\n\n')
}

/** `1,234 events/s`, for each metric of a measurement. */
export function measurementText(measurement: Measurement): string {
  return (Object.keys(measurement) as MetricName[])
    .map((metric) => `${formatted(measurement[metric]!, metric)} ${metrics[metric].unit}`)
    .join(', ')
}

/**
 * The median of the ratios within each round, whose measurements lie close together in time: what
 * slows a machine down for a while is in both. Above 1 is better than the limit, for costs as well.
 */
function ratioOf(
  results: Results,
  metric: MetricName,
  subject: string,
  limit: string | undefined,
): number | undefined {
  const limits = limit === undefined ? undefined : results.get(limit)
  if (limits === undefined || subject === limit) return undefined

  const isCost = 'isCost' in metrics[metric]
  const limitValues = valuesOf(limits, metric)
  return median(
    valuesOf(results.get(subject)!, metric).map((value, round) =>
      isCost ? limitValues[round]! / value : value / limitValues[round]!,
    ),
  )
}

function metricsOf(results: Results): readonly MetricName[] {
  const [first] = results.values()
  return Object.keys(first?.[0] ?? {}) as MetricName[]
}

function valuesOf(measurements: readonly Measurement[], metric: MetricName): readonly number[] {
  return measurements.flatMap((measurement) => measurement[metric] ?? [])
}

function rounded(value: number, metric: MetricName): number {
  return Number(value.toFixed(metrics[metric].decimals))
}

function formatted(value: number, metric: MetricName): string {
  const { decimals } = metrics[metric]
  return value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
}

// The first column is names and the last ones are words: everything between is numbers.
function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 || column === 6 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
