import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import { defineEvent } from '../../src/event/event-type.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'

// The compiler makes these checks: an expected error that does not occur is an error.
const withZod = defineEvent('Zod', {
  aggregateType: 'Order',
  schema: z.object({ id: z.string(), at: z.iso.datetime().transform((text) => new Date(text)) }),
  aggregateId: (order) => order.id,
})
const withValibot = defineEvent('Valibot', { schema: v.object({ total: v.number() }) })
const withArktype = defineEvent('Arktype', { schema: type({ name: 'string' }) })
const withTypeOnly = defineEvent<{ readonly size: number }>('Plain')

describe('payload types', () => {
  it('flow from the schema to write and to the listener', async (test) => {
    const seen: unknown[] = []
    const allSeen = Promise.withResolvers<void>()
    const see = (value: unknown) => {
      if (seen.push(value) === 4) allSeen.resolve()
    }
    const listeners = new ListenerRegistry()
      .register(withZod, async (event) => see(event.payload.at.getTime()))
      .register(withValibot, (event) => see(event.payload.total.toFixed(1)))
      .register(withArktype, { onEvent: (event) => see(event.payload.name.toUpperCase()) })
      .register(withTypeOnly, (event) => see(event.payload.size * 2))

    const outbox = await Outbox.singleNode({ store: memoryStore(), listeners }).start()
    test.after(() => outbox.close())
    await outbox.transaction(async () => {
      await outbox.write(withZod, { id: 'o-1', at: '1970-01-01T00:00:00.005Z' })
      await outbox.writeAll([withValibot.of({ total: 2 }), withArktype.of({ name: 'ada' })])
      await outbox.write(withTypeOnly, { size: 21 })
    })
    await allSeen.promise
    deepEqual(new Set(seen), new Set([5, '2.0', 'ADA', 42]))
  })

  it('make a wrong payload a compiler error', () => {
    const wrong = async (outbox: Outbox<object>) => {
      // @ts-expect-error the input of the schema is text
      await outbox.write(withZod, { id: 'o-1', at: new Date() })
      // @ts-expect-error a field is missing
      await outbox.write(withValibot, {})
      // @ts-expect-error not a name
      withArktype.of({ name: 7 })
      // @ts-expect-error not a size
      await outbox.write(withTypeOnly, { size: 'large' })
      // @ts-expect-error the payload has no such field
      new ListenerRegistry().register(withZod, (event) => void event.payload.total)
    }
    deepEqual(typeof wrong, 'function')
  })
})
