import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Registry } from 'prom-client'
import { prometheusMetrics } from '../../../src/observe/prometheus/index.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { fakeClock } from '../../../src/testing/fake-clock.ts'
import { onEveryStore, startOutbox, writeTested } from '../../fixtures/outbox-fixture.ts'
import { RecordingListener } from '../../fixtures/recording-listener.ts'
import { scrape } from '../../fixtures/scrape.ts'
import { filteringOutbox } from '../filtering-outbox.ts'

const quiet = { logger: false, poller: { intervalMs: 600_000, busyIntervalMs: 600_000 } } as const

onEveryStore('a scrape has the counts of the run', async (test, open, mode) => {
  const register = new Registry()
  const metrics = prometheusMetrics({ register })
  let calls = 0
  const listener = new RecordingListener(() => {
    calls++
    if (calls === 1) throw new Error('not yet')
  })
  const { outbox } = await startOutbox(test, open(), { mode, metrics, listener, maxAttempts: 1 })
  await writeTested(outbox, 1, 2, 3)
  await outbox.drain()
  const writer = await Outbox.writerOnly<any, any>({
    store: open(),
    logger: false,
    metrics: prometheusMetrics({ register, name: 'writer' }),
  }).start()
  test.after(() => writer.close())
  await writeTested(writer, 4, 5)
  await outbox.drain()

  const values = await scrape(register)
  const get = (name: string, labels = '') => values.get(`outbox_${name}{outbox="default"${labels}}`)
  equal(get('write_events_total'), 3)
  equal(values.get('outbox_write_events_total{outbox="writer"}'), 2)
  equal(get('enqueue_hot_total'), 3)
  equal(get('enqueue_cold_total'), 2)
  equal(get('dispatch_success_total'), 4)
  equal(get('dispatch_dead_total'), 1)
  equal(get('dispatch_failure_total'), 0)
  equal(get('dispatch_deferred_total'), 0)
  equal(get('settle_rows_total'), 5)
  equal(get('poll_rows_total'), 2)
  const kind = ',type="Tested",destination=""'
  equal(get('deliveries_total', `${kind},outcome="done"`), 4)
  equal(get('deliveries_total', `${kind},outcome="dead"`), 1)
  equal(get('delivery_duration_seconds_count', kind), 4)
  equal(get('delivery_duration_seconds_bucket', `${kind},le="+Inf"`), 4)
  equal(get('listener_duration_seconds_count', kind), 5)
  equal(get('rows', ',status="DONE"'), 4)
  equal(get('rows', ',status="DEAD"'), 1)
  equal(get('rows_held', ',right="lease"'), 0)
  equal(get('store_outage'), 0)
  equal(get('queue_cold_depth'), 0)
  ok(get('poll_duration_seconds_count')! >= 1)
})

describe('prometheusMetrics', () => {
  it('shows the same lag on every process, by the clock of the database', async (test) => {
    const clock = fakeClock()
    const store = memoryStore({ now: clock.now })
    store.close = async () => {}
    const registers = [new Registry(), new Registry(), new Registry()]
    // The second stands by, the third only writes. The clock of each is wrong in another way.
    const skewed = (ms: number) => ({ ...clock, now: () => clock.now() + ms })
    for (const [index, register] of registers.entries()) {
      const metrics = prometheusMetrics({ register })
      const options = { store, logger: false, clock: skewed(index * 3_600_000), metrics } as const
      const outbox = index < 2 ? Outbox.singleNode({ ...quiet, ...options }) : Outbox.writerOnly(options)
      await outbox.start()
      test.after(() => outbox.close())
    }
    const writer = await Outbox.writerOnly({ store, logger: false, clock }).start()
    test.after(() => writer.close())
    await writer.pause({ eventType: 'Later' })
    await writer.transaction(() => writer.write('Later', 1, { deliverAfterMs: 1_000 }))
    await clock.advance(43_000)
    const lagOf = async (register: Registry) =>
      (await scrape(register)).get('outbox_lag_oldest_seconds{outbox="default"}')
    const lags = () => Promise.all(registers.map(lagOf))
    deepEqual(await lags(), [42, 42, 42])
    await clock.advance(4_000)
    deepEqual(await lags(), [42, 42, 42], 'a scrape asks the database at most every 5 s')
    await clock.advance(1_000)
    deepEqual(await lags(), [47, 47, 47])
  })

  it('does not wait for a database that hangs', async (test) => {
    const clock = fakeClock()
    const register = new Registry()
    const store = memoryStore({ now: clock.now })
    let tally = (): Promise<never> => new Promise(() => {})
    store.looks.tally = () => tally()
    const outbox = await Outbox.multiNode({
      ...quiet,
      store,
      clock,
      metrics: prometheusMetrics({ register }),
    }).start()
    test.after(() => outbox.close())
    const scraping = scrape(register)
    await clock.advance(2_000)
    const values = await scraping
    equal(values.has('outbox_lag_oldest_seconds{outbox="default"}'), false)
    equal(values.get('outbox_store_outage{outbox="default"}'), 0)

    tally = () => Promise.reject(new Error('gone'))
    // The look that hangs is still under way, and no other begins.
    const second = scrape(register)
    await clock.advance(2_000)
    equal((await second).has('outbox_lag_oldest_seconds{outbox="default"}'), false)
  })

  it('gives at most `maxTypes` event types a label of their own', async () => {
    const register = new Registry()
    const metrics = prometheusMetrics({ register, maxTypes: 20 })
    for (let type = 0; type < 10_000; type++) {
      metrics.recordDelivery!({
        eventType: `Type${type}`,
        destination: '',
        end: 'done',
        isHot: false,
        listenerMs: 1,
        deliveryMs: 1,
      })
    }
    const values = await scrape(register)
    const types = new Set([...values.keys()].flatMap((key) => /type="([^"]+)"/.exec(key)?.[1] ?? []))
    equal(types.size, 21)
    equal(
      values.get('outbox_deliveries_total{outbox="default",type="other",destination="",outcome="done"}'),
      9_980,
    )
    ok(values.size < 21 * (4 + 2 * 19) + 100, `${values.size} series`)
  })

  it('counts a type that is called "other" with the others', async () => {
    const register = new Registry()
    const metrics = prometheusMetrics({ register, maxTypes: 1 })
    for (const eventType of ['A', 'B', 'other', 'B', 'A']) {
      metrics.recordDelivery!({
        eventType,
        destination: '',
        end: 'done',
        isHot: false,
        listenerMs: 1,
        deliveryMs: 1,
      })
    }
    const values = await scrape(register)
    equal(values.get('outbox_deliveries_total{outbox="default",type="A",destination="",outcome="done"}'), 2)
    equal(
      values.get('outbox_deliveries_total{outbox="default",type="other",destination="",outcome="done"}'),
      3,
    )
  })

  it('keeps several outboxes of one process apart by name, and adds up those of one name', async () => {
    const register = new Registry()
    prometheusMetrics({ register, name: 'orders' }).incrementDispatchDead()
    prometheusMetrics({ register, name: 'mail' }).addDispatchDead!(2)
    prometheusMetrics({ register, name: 'mail' }).addDispatchDead!(3)
    prometheusMetrics({ register, prefix: 'other' }).incrementDispatchDead()
    const values = await scrape(register)
    equal(values.get('outbox_dispatch_dead_total{outbox="orders"}'), 1)
    equal(values.get('outbox_dispatch_dead_total{outbox="mail"}'), 5)
    equal(values.get('other_dispatch_dead_total{outbox="default"}'), 1)
  })

  it('works on a registry that speaks OpenMetrics, and on one that was cleared', async () => {
    const register = new Registry()
    register.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never)
    prometheusMetrics({ register }).incrementDispatchDead()
    equal((await scrape(register)).get('outbox_dispatch_dead_total{outbox="default"}'), 1)
    register.clear()
    prometheusMetrics({ register }).incrementDispatchDead()
    equal((await scrape(register)).get('outbox_dispatch_dead_total{outbox="default"}'), 2)
  })

  it('checks its options', () => {
    const register = new Registry()
    throws(() => prometheusMetrics({} as never), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => prometheusMetrics({ register, prefix: '1x' }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => prometheusMetrics({ register, buckets: [1, 1] }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => prometheusMetrics({ register, maxTyps: 1 } as never), { code: 'OUTBOX_UNKNOWN_OPTION' })
  })
})

describe('deliveries that a rule filters', () => {
  it('have a counter and an outcome of their own, and no duration', async (test) => {
    const register = new Registry()
    const outbox = await filteringOutbox(prometheusMetrics({ register }))
    test.after(() => outbox.close())
    const values = await scrape(register)
    const get = (name: string, labels = '') => values.get(`outbox_${name}{outbox="default"${labels}}`)
    const kind = ',type="Tested",destination="kafka"'
    equal(get('dispatch_filtered_total'), 2)
    equal(get('dispatch_success_total'), 3)
    equal(get('deliveries_total', `${kind},outcome="filtered"`), 2)
    equal(get('deliveries_total', `${kind},outcome="done"`), 1)
    equal(get('delivery_duration_seconds_count', kind), 1)
    equal(get('listener_duration_seconds_count', kind), 1)
    deepEqual(
      [...values.keys()].filter((name) => name.includes('/filtered')),
      [],
    )
  })
})
