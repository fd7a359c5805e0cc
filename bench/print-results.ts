import type { Bar, BarPanel } from './charts/bar-charts.ts'
import { type Measurement, type MetricName, metrics } from './metrics.ts'
import type { Results } from './run-rounds.ts'
import { median, medianBounds } from './statistics.ts'
import type { Subject, Suite } from './store-bench.ts'

export interface ResultLine {
  readonly subject: string
  readonly metric: MetricName
  readonly median: number
  readonly min: number
  readonly max: number
  readonly n: number
}

/** Returns the results of each subject, summed up for each of its metrics. */
export function resultLines(results: Results): readonly ResultLine[] {
  return metricsOf(results).flatMap((metric) =>
    [...results].flatMap(([subject, measurements]) => {
      const values = valuesOf(measurements, metric)
      if (values.length === 0) return []
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

/** Returns a readable table for each metric. */
export function resultTables(results: Results, suite: Suite): string {
  const lines = resultLines(results)
  const comparisons = comparisonsOf(suite).filter(({ others }) => others.some((other) => results.has(other)))

  const tables = metricsOf(results).map((metric) => {
    const rows = lines
      .filter((line) => line.metric === metric)
      .map((line) => {
        const subject = suite.subjects.find(({ name }) => name === line.subject)!
        return [
          line.subject,
          ...[line.median, line.min, line.max].map((value) => formatted(value, metric)),
          String(line.n),
          ...comparisons.map(({ text }) => text(results, metric, subject)),
        ]
      })
    const headers = ['median', 'min', 'max', 'n', ...comparisons.map(({ header }) => header)]
    return table([[metrics[metric].unit, ...headers], ...rows])
  })
  return tables.join('\n\n')
}

/** Returns the same as bars, without the CPU time per event or transaction, which only the tables show. */
export function resultPanels(results: Results): readonly BarPanel[] {
  const lines = resultLines(results)
  return metricsOf(results)
    .filter((metric) => !/cpuUs/i.test(metric))
    .map((metric) => ({
      title: `${metrics[metric].unit} (${'isCost' in metrics[metric] ? 'less' : 'more'} is better)`,
      bars: lines
        .filter((line) => line.metric === metric)
        .map(({ subject, median: value }) => ({ name: subject, value, kind: kindOf(subject) })),
    }))
}

function kindOf(subject: string): Bar['kind'] {
  if (subject.startsWith('sendoff-')) return 'sendoff'
  return subject.startsWith('limit-') ? 'limit' : 'peer'
}

/** Returns `1,234 events/s`, for each metric of a measurement. */
export function measurementText(measurement: Measurement): string {
  return (Object.keys(measurement) as MetricName[])
    .map((metric) => `${formatted(measurement[metric]!, metric)} ${metrics[metric].unit}`)
    .join(', ')
}

/** A column of ratios. */
interface Comparison {
  readonly header: string
  readonly others: readonly string[]
  readonly text: (results: Results, metric: MetricName, subject: Subject) => string
}

function comparisonsOf({ subjects, limit, peer, showsExactness }: Suite): readonly Comparison[] {
  const ratioText = showsExactness ? exactRatioText : shortRatioText
  const withOne = (other: string): Comparison => ({
    header: `of ${other}`,
    others: [other],
    text: (results, metric, { name }) => ratioText(ratiosOf(results, metric, name, other)),
  })
  const ownLimits = subjects.flatMap(({ ownLimit }) => ownLimit ?? [])
  const withOwnLimits: Comparison = {
    header: 'of its own limit',
    others: ownLimits,
    text(results, metric, { name, ownLimit }) {
      const ratios = ratiosOf(results, metric, name, ownLimit)
      return ratios.length === 0 ? '' : `${ratioText(ratios)} of ${ownLimit}`
    },
  }
  return [
    ...(limit === undefined ? [] : [withOne(limit)]),
    ...(peer === undefined ? [] : [withOne(peer)]),
    ...(ownLimits.length === 0 ? [] : [withOwnLimits]),
  ]
}

/**
 * Returns the ratio within each round. Measurements of a round lie close together in time, so a slow phase of
 * the machine affects both. Above 1 is better than the other, for costs as well.
 */
function ratiosOf(
  results: Results,
  metric: MetricName,
  subject: string,
  other: string | undefined,
): readonly number[] {
  const otherValues = other === undefined ? [] : valuesOf(results.get(other) ?? [], metric)
  if (otherValues.length === 0 || subject === other) return []

  const isCost = 'isCost' in metrics[metric]
  return valuesOf(results.get(subject)!, metric).map((value, round) =>
    isCost ? otherValues[round]! / value : value / otherValues[round]!,
  )
}

// A cost of nothing is better beyond comparison.
function shortRatioText(ratios: readonly number[]): string {
  const ratio = median(ratios)
  if (ratios.length === 0 || Number.isNaN(ratio)) return ''
  return Number.isFinite(ratio) ? ratio.toFixed(2) : '∞'
}

/** Returns the median, and how far it is known. */
function exactRatioText(ratios: readonly number[]): string {
  if (ratios.length === 0) return ''
  const [least, most] = medianBounds(ratios)
  return `${median(ratios).toFixed(3)} (${least.toFixed(3)} to ${most.toFixed(3)})`
}

// In the order of their descriptions, independent of the order of measurement.
function metricsOf(results: Results): readonly MetricName[] {
  const measured = new Set([...results.values()].flat().flatMap((measurement) => Object.keys(measurement)))
  return (Object.keys(metrics) as MetricName[]).filter((metric) => measured.has(metric))
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

// Names and words are aligned left, numbers right.
function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const isText = (column: number) => rows.slice(1).some((row) => /[a-z]/.test(row[column]!))
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          isText(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
