import { deepEqual, equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { metricCatalogue, prometheusName } from '../../packages/sendoff/src/observe/metric-catalogue.ts'

const text = (file: string) => readFileSync(join(import.meta.dirname, '../../docs/monitoring', file), 'utf8')
const existing = new Set(
  metricCatalogue.flatMap((each) => {
    const name = prometheusName(each, 'outbox')
    return each.kind === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name]
  }),
)
const used = (page: string) => new Set(page.match(/\boutbox_\w+/g))
const unknownIn = (page: string) => [...used(page)].filter((name) => !existing.has(name))

describe('the alert rules and the dashboard', () => {
  const dashboard = text('grafana-dashboard.json')

  it('name only metrics that exist', () => {
    deepEqual(unknownIn(text('prometheus-alerts.yml')), [])
    deepEqual(unknownIn(text('prometheus-alerts.test.yml')), [])
    deepEqual(unknownIn(dashboard), [])
    equal(used(dashboard).size > 20, true)
  })

  it('test every alert', () => {
    const alerts = [...text('prometheus-alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name]) => name!)
    equal(alerts.length > 0, true)
    for (const alert of alerts) ok(text('prometheus-alerts.test.yml').includes(`alertname: ${alert}`), alert)
  })

  it('show every metric on the dashboard', () => {
    const shown = used(dashboard)
    const missing = metricCatalogue
      .map((each) => prometheusName(each, 'outbox'))
      .filter((name) => ![...shown].some((each) => each === name || each.startsWith(`${name}_`)))
    deepEqual(missing, [])
  })
})
