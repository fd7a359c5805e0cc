import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  metricCatalogue,
  type MetricDefinition,
  openTelemetryName,
  prometheusName,
} from '../../packages/sendoff/src/observe/metric-catalogue.ts'
import { projectRoot } from '../workspace.ts'

/** The page with the metrics. */
export const metricsPage = join(projectRoot, 'docs/observability.md')

/** Returns the rows of the page's table: both names, kind, labels and meaning of every metric. */
export function metricRows(): readonly string[] {
  return metricCatalogue.map((each: MetricDefinition) => {
    const names = `\`${prometheusName(each, 'outbox')}\` | \`${openTelemetryName(each, 'outbox')}\``
    const labels = (each.labels ?? []).map((label) => `\`${label}\``).join(', ')
    return `| ${names} | ${each.kind} | ${labels} | ${each.help} |`
  })
}

/** Returns the rows of the table on the page. */
export function shownMetricRows(): readonly string[] {
  return readFileSync(metricsPage, 'utf8').match(/^\| `outbox_.*$/gm) ?? []
}

// `node test/docs/metrics-page.ts` writes the rows again. Then format the page.
if (process.argv[1] === import.meta.filename) {
  const page = readFileSync(metricsPage, 'utf8')
  writeFileSync(
    metricsPage,
    page.replace(shownMetricRows().join('\n'), () => metricRows().join('\n')),
  )
}
