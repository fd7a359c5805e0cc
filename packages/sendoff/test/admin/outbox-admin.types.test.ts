import { ok } from 'node:assert/strict'
import { it } from 'node:test'
import { z } from 'zod'
import { outboxAdmin } from '../../src/admin/index.ts'
import { defineEvent } from '../../src/event/event-type.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'

// The compiler makes these checks: an expected error that does not occur is an error.
it('an admin takes event types with a schema, with a transforming schema, and with a type alone', () => {
  const OrderPlaced = defineEvent('OrderPlaced', { schema: z.object({ orderId: z.string() }) })
  const Counted = defineEvent('Counted', { schema: z.object({ size: z.string().transform(Number) }) })
  const Plain = defineEvent<{ readonly size: number }>('Plain')
  ok(outboxAdmin({ store: memoryStore(), events: [OrderPlaced, Counted, Plain] }))
  // @ts-expect-error a name is no definition
  ok(outboxAdmin({ store: memoryStore(), events: ['OrderPlaced'] }))
})
