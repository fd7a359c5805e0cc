import { deepEqual, equal } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, after, describe, it } from 'node:test'
import pg from 'pg'
import { postgresStore } from 'sendoff/postgres'
import { faultProxy, type FaultProxy } from '../services/proxy/fault-proxy.ts'
import { askPrometheus, prometheusServer } from '../services/servers/prometheus/prometheus-server.ts'
import type { PrivateServer } from '../services/servers/private-server.ts'
import { monitoringFolder, quickRules } from './alert-rules.ts'
import { MonitoredWorker, until } from './monitored-worker.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
const eventsPerWorker = isFull ? 50_000 : 2_000

describe('the alert rules', () => {
  it('are valid, and fire and stop as their tests say', () => {
    execFileSync('promtool', ['check', 'rules', join(monitoringFolder, 'prometheus-alerts.yml')])
    execFileSync('promtool', ['test', 'rules', join(monitoringFolder, 'prometheus-alerts.test.yml')])
  })
})

describe('a Prometheus that scrapes two workers under load', () => {
  const schema = `monitoring_${process.pid}`
  const folder = mkdtempSync(join(tmpdir(), 'sendoff-monitoring-'))
  const pool = new pg.Pool({ connectionString: process.env['POSTGRES_URL']! })
  const workers: MonitoredWorker[] = []
  let proxy: FaultProxy
  let prometheus: PrivateServer

  before(async () => {
    await postgresStore({ client: pool, schema }).migrate()
    proxy = await faultProxy(process.env['POSTGRES_URL']!)
    workers.push(
      await MonitoredWorker.start(proxy.url, schema),
      await MonitoredWorker.start(proxy.url, schema),
    )
    const targets = workers.map(({ port }) => `127.0.0.1:${port}`)
    prometheus = await prometheusServer(folder, { targets, rules: quickRules() })
  })

  after(async () => {
    workers.forEach((worker) => worker.kill())
    await prometheus.kill()
    await proxy.close()
    await pool.query(`drop schema if exists "${schema}" cascade`)
    await pool.end()
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = async (query: string) => (await askPrometheus(prometheus.url, query)).map(({ value }) => value)
  const total = async (query: string) => (await ask(`sum(${query})`))[0]
  const firing = (alert: string) => ask(`ALERTS{alertname="${alert}",alertstate="firing"}`)

  it('returns the counts that the workers have themselves', async () => {
    await Promise.all(workers.map((worker) => worker.write(eventsPerWorker)))
    const all = 2 * eventsPerWorker
    await until(async () => (await total('outbox_dispatch_success_total')) === all)
    // A later scrape: what one says about the table may be 5 s old, and so of before the end.
    await until(async () => (await ask('max(outbox_rows{status="DONE"})'))[0]! >= Math.min(all, 10_000))
    await until(async () => (await ask('count(outbox_lag_oldest_seconds == 0)'))[0] === 2)

    equal(await total('outbox_write_events_total'), all)
    equal(await total('outbox_deliveries_total{type="Ordered",outcome="done"}'), all)
    equal(await total('outbox_delivery_duration_seconds_count{type="Ordered"}'), all)
    const reports = await Promise.all(workers.map((worker) => worker.report()))
    const calls = reports.reduce((sum, report) => sum + report.calls, 0)
    const failures = reports.reduce((sum, report) => sum + report.failures, 0)
    equal(failures, all / 10)
    equal(await total('outbox_dispatch_failure_total'), failures)
    equal(await total('outbox_listener_duration_seconds_count'), calls)
    equal(await total('outbox_settle_rows_total'), all + all / 10)
    equal(await total('outbox_dispatch_dead_total'), 0)
    equal(
      (await total('outbox_enqueue_hot_total'))! + (await total('outbox_enqueue_cold_total'))!,
      all + all / 10,
    )
    equal((await ask('count(up == 1)'))[0], 2)
  })

  it('fires an alert in an outage of the database, and stops it after the outage', async () => {
    deepEqual(await firing('OutboxStoreDown'), [])
    proxy.halfOpen()
    await until(async () => (await firing('OutboxStoreDown')).length === 1)
    // The workers are scraped all the same.
    equal((await ask('count(up == 1)'))[0], 2)
    proxy.resume()
    proxy.cut()
    await until(async () => (await firing('OutboxStoreDown')).length === 0)
    await Promise.all(workers.map((worker) => worker.write(50)))
    await until(async () => (await total('outbox_dispatch_success_total')) === 2 * eventsPerWorker + 100)
  })
})
