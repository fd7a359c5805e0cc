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

  it('flow from each step of an upgrade to the next, and to the listener', () => {
    const schema = z.object({ id: z.string(), total: z.number(), currency: z.string() })
    interface Old {
      readonly id: string
    }
    const checked = () => {
      const inferred = defineEvent('Placed', {
        schema,
        version: 4,
        upgrade: {
          1: (old) => ({ id: String(old) }),
          2: (old) => ({ ...old, total: old.id.length }),
          3: (old) => ({ ...old, currency: old.total.toFixed() }),
        },
      })
      new ListenerRegistry().register(inferred, (event) => event.payload.currency.toUpperCase() as never)
      defineEvent('Placed', {
        schema,
        aggregateId: (order) => order.currency,
        version: 2,
        // A step may name the type of what was stored.
        upgrade: { 1: (old: Old) => ({ ...old, total: 1, currency: 'EUR' }) },
      })
      const typed = defineEvent<{ id: string; total: number }>('Placed', {
        aggregateId: (order) => order.id,
        version: 3,
        upgrade: { 1: (old: Old) => old, 2: (old: Old) => ({ ...old, total: 1 }) },
      })
      new ListenerRegistry().register(typed, (event) => void event.payload.total.toFixed())

      // @ts-expect-error the payload of the first version is unknown
      defineEvent('Placed', { schema, version: 2, upgrade: { 1: (old) => ({ ...old, currency: '' }) } })
      // @ts-expect-error the last step returns no currency
      defineEvent('Placed', { schema, version: 2, upgrade: { 1: ({ id }: Old) => ({ id, total: 1 }) } })
      // @ts-expect-error the second step needs a total
      defineEvent('Placed', {
        schema,
        version: 3,
        upgrade: {
          1: (old: Old) => old,
          2: (old: { id: string; total: number }) => ({ ...old, currency: '' }),
        },
      })
      // @ts-expect-error the step from version 1 is missing
      defineEvent('Placed', { schema, version: 3, upgrade: { 2: (old) => old as never } })
      // @ts-expect-error all steps are missing
      defineEvent('Placed', { schema, version: 2 })
      // @ts-expect-error the last step returns no size
      defineEvent<{ size: number }>('Plain', { version: 2, upgrade: { 1: (old: Old) => old } })
      // @ts-expect-error all steps are missing
      defineEvent<{ size: number }>('Plain', { version: 2 })
      // @ts-expect-error an alias is a name
      defineEvent<{ size: number }>('Plain', { aliases: [7] })
    }
    deepEqual(typeof checked, 'function')
  })
})
