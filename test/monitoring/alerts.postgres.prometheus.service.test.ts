import { deepEqual, equal } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { postgresStore } from 'sendoff/postgres'
import type { PrivateServer } from '../services/servers/private-server.ts'
import { askPrometheus, prometheusServer } from '../services/servers/prometheus/prometheus-server.ts'
import { quickRules } from './alert-rules.ts'
import { MonitoredWorker, until } from './monitored-worker.ts'

const skip =
  process.env['SENDOFF_TEST_SCALE'] !== 'full' && 'it takes ten seconds: it runs with SENDOFF_TEST_SCALE=full'

describe('with real workers and a real Prometheus', () => {
  const url = process.env['POSTGRES_URL']!
  const schemas = { plain: `alerts_${process.pid}`, keys: `alerts_keys_${process.pid}` }
  const folder = mkdtempSync(join(tmpdir(), 'sendoff-alerts-'))
  const pool = new pg.Pool({ connectionString: url })
  let first: MonitoredWorker
  let second: MonitoredWorker
  let ofKeys: MonitoredWorker
  let prometheus: PrivateServer

  before(async () => {
    for (const schema of Object.values(schemas)) await postgresStore({ client: pool, schema }).migrate()
    first = await MonitoredWorker.start(url, schemas.plain)
    second = await MonitoredWorker.start(url, schemas.plain)
    ofKeys = await MonitoredWorker.start(url, schemas.keys, 'keys')
    const targets = [first, second, ofKeys].map(({ port }) => `127.0.0.1:${port}`)
    prometheus = await prometheusServer(folder, { targets, rules: quickRules() })
    await until(async () => (await ask('count(outbox_poll_age_seconds)'))[0]?.value === 3)
  })

  after(async () => {
    for (const worker of [first, second, ofKeys]) worker.kill()
    await prometheus.kill()
    for (const schema of Object.values(schemas)) await pool.query(`drop schema if exists "${schema}" cascade`)
    await pool.end()
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = (query: string) => askPrometheus(prometheus.url, query)
  const firing = (alert: string) => ask(`ALERTS{alertname="${alert}",alertstate="firing"}`)
  const untilFires = (alert: string) => until(async () => (await firing(alert)).length > 0)
  const untilStops = (alert: string) => until(async () => (await firing(alert)).length === 0)

  it('no alert fires while all is well', async () => {
    await first.write(50, 'Flaky')
    await ofKeys.write(5, 'Keyed')
    await until(async () => (await ask('sum(outbox_dispatch_success_total)'))[0]?.value === 55)
    deepEqual(await ask('ALERTS{alertstate="firing"}'), [])
  })

  describe('an alert fires and stops', { concurrency: true }, () => {
    it('for dead events', async () => {
      await first.write(3, 'Doomed')
      await untilFires('OutboxDeadEvents')
      await untilStops('OutboxDeadEvents')
    })

    it('for deliveries that fail', async () => {
      for (const worker of [first, second]) await worker.order({ failing: true })
      await second.write(20, 'Flaky')
      await untilFires('OutboxFailing')
      for (const worker of [first, second]) await worker.order({ failing: false })
      await untilStops('OutboxFailing')
    })

    it('for a blocked key and an open circuit breaker', async () => {
      await ofKeys.order({ failing: true })
      await ofKeys.write(2, 'Keyed')
      await ofKeys.write(20, 'Sent')
      await untilFires('OutboxKeysBlocked')
      await untilFires('OutboxBreakerOpen')
      const [breaker] = await firing('OutboxBreakerOpen')
      deepEqual([breaker!.labels['outbox'], breaker!.labels['destination']], ['keys', 'broker'])
      await ofKeys.order({ failing: false })
      await ofKeys.order({ unblock: true })
      await untilStops('OutboxKeysBlocked')
      await untilStops('OutboxBreakerOpen')
    })
  })

  it('an alert fires for a high lag, and stops when the events are delivered', { skip }, async () => {
    await first.order({ paused: true })
    await first.write(5, 'Flaky')
    await untilFires('OutboxLagHigh')
    equal((await firing('OutboxLagHigh')).length, 1)
    await first.order({ paused: false })
    await untilStops('OutboxLagHigh')
  })

  it('an alert fires for refused settlements, and stops after them', { skip }, async () => {
    const delivered = async () =>
      (await ask('sum(outbox_deliveries_total{type="Slow",outcome="done"})'))[0]?.value
    await first.write(20, 'Slow')
    await first.order({ untilSlow: 20 })
    first.freeze()
    await until(async () => (await delivered()) === 20)
    first.resume()
    await untilFires('OutboxSettlementsRefused')
    await untilStops('OutboxSettlementsRefused')
  })

  it('an alert fires for workers that cannot poll, and stops when they can', async () => {
    // Reads go on, but no process gets a lease.
    const client = await pool.connect()
    await client.query(`begin; lock table "${schemas.plain}".outbox_event in exclusive mode`)
    await untilFires('OutboxNotPolling')
    await client.query('rollback')
    client.release()
    await untilStops('OutboxNotPolling')
  })
})
