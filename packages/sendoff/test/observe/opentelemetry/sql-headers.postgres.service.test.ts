import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { openTelemetryTracing } from '../../../src/observe/opentelemetry/index.ts'
import { linksOf, api, recordTraces } from '../../fixtures/trace-recording.ts'
import { startOutbox } from '../../fixtures/outbox-fixture.ts'
import { newStore } from '../../stores/postgres/test-store.ts'

it('a delivery continues the trace of an event that SQL wrote', async (test) => {
  const { tracer, spans } = recordTraces()
  const { store, pool, schema } = await newStore(test)
  const { outbox, listener } = await startOutbox(test, store, {
    tracing: openTelemetryTracing({ api, tracer }),
  })
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  // PostgreSQL writes jsonb with its own white space and order.
  await pool.query(
    `select "${schema}".outbox_event_write('Tested', to_jsonb(1), headers => jsonb_build_object(
       'traceparent', $1::text, 'zone', 'traceparent', 'a', '"traceparent":"00'))`,
    [`00-${traceId}-b7ad6b7169203331-01`],
  )
  await outbox.drain()
  deepEqual(listener.payloads, [1])
  const [deliver] = spans('deliver Tested')
  deepEqual(deliver && linksOf(deliver), ['b7ad6b7169203331'])
  equal(deliver!.links[0]!.context.traceId, traceId)
})
