import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { EventEnvelope } from '../../src/event/event-envelope.ts'
import { defineEvent } from '../../src/event/event-type.ts'
import { JsonCodec } from '../../src/event/json-codec.ts'
import { EventRules, filtered } from '../../src/process/event-rules.ts'
import { Expansion } from '../../src/route/expansion.ts'
import { Routing } from '../../src/route/routing.ts'
import type { RoutingRule } from '../../src/route/routing-options.ts'
import { fitsPattern } from '../../src/route/type-pattern.ts'

const names = ['', 'kafka', 'mail', 'hook'] as const
const destinations = { kafka: {}, mail: {}, hook: {} }
const part = fc.stringMatching(/^[ab%_.\\]{0,3}$/)
const pattern = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('*') || '*')
const typeName = fc.stringMatching(/^[ab%_.\\]{1,6}$/)
const types = fc.record({ eventType: typeName, aggregateType: typeName })
const aggregateType = fc.oneof(fc.constant('*'), pattern)
const to = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 })

/** The meaning of a pattern, as a regular expression has it. */
function plainly(text: string): RegExp {
  const escaped = text.split('*').map((each) => each.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${escaped.join('.*')}$`, 's')
}

interface Types {
  readonly eventType: string
  readonly aggregateType: string
}

function fits(rule: { readonly events: string; readonly aggregateType: string }, event: Types): boolean {
  return plainly(rule.events).test(event.eventType) && plainly(rule.aggregateType).test(event.aggregateType)
}

describe('rules, for any routing', () => {
  it('a pattern fits exactly the names that its wildcards allow', () => {
    fc.assert(
      fc.property(
        pattern,
        fc.oneof(
          typeName,
          pattern.map((text) => text.replaceAll('*', 'ab')),
        ),
        (text, name) => {
          equal(fitsPattern(text)(name), plainly(text).test(name), `${text} and ${name}`)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('every event has at least one destination, each once: those of all rules that fit, or the default', () => {
    const rule = fc.record({ events: pattern, aggregateType, to, when: fc.constant(() => true) })
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 6 }), to, types, (rules, rest, event) => {
        const { stored } = new Routing({ version: 1, rules, default: rest, destinations })
        const found = new Expansion(stored).of(event)
        const fitting = rules.filter((each) => fits(each, event)).flatMap((each) => each.to)
        deepEqual(new Set(found), new Set(fitting.length === 0 ? rest : fitting))
        equal(found.length, new Set(found).size)
      }),
      { numRuns: 300 },
    )
  })

  it('the order of rules changes no destination, and the same content is the same text', () => {
    const rule = fc.record({ events: pattern, aggregateType, to, when: fc.constant(() => true) })
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), types, (rules, event) => {
        const content = (some: readonly RoutingRule[]) =>
          new Routing({ version: 1, rules: some, destinations }).stored
        const of = (some: readonly RoutingRule[]) => new Set(new Expansion(content(some)).of(event))
        deepEqual(of(rules), of(rules.toReversed()))
        equal(content(rules).content, content(rules).content)
      }),
    )
  })

  it('the first rule of a destination that says yes maps, and without one the event is filtered', async () => {
    const rule = fc.record({ events: pattern, aggregateType, to, yes: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(...names),
        types,
        async (given, destination, eventTypes) => {
          const rules = given.map((each, index) => ({
            events: each.events,
            aggregateType: each.aggregateType,
            to: each.to,
            when: () => each.yes,
            map: () => ({ target: String(index), payload: { index } }),
          }))
          const codec = JsonCodec.getDefault()
          const eventRules = new EventRules(new Routing({ version: 1, rules, destinations }), codec)
          const event = EventEnvelope.of({ ...eventTypes, payloadJson: '1', orderingKey: 'key' })
          const ruled = await eventRules.apply(event, {
            row: { ...eventTypes, destination },
            isInRules: false,
          })

          const own = given
            .map((each, index) => ({ ...each, index }))
            .filter((each) => each.to.includes(destination) && fits(each, eventTypes))
          const deciding = own.find(({ yes }) => yes)
          if (own.length === 0) equal(ruled, event)
          else if (deciding === undefined) equal(ruled, filtered)
          else {
            const mapped = ruled as EventEnvelope
            deepEqual([mapped.target, mapped.payload], [String(deciding.index), { index: deciding.index }])
            equal(mapped.orderingKey, 'key')
            equal(mapped.eventId, event.eventId)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('the rules that decide at delivery are those that routed the row, whatever an upgrade calls the event', async () => {
    const rule = fc.record({ events: pattern, aggregateType, to, yes: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { maxLength: 6 }),
        fc.constantFrom(...names),
        types,
        types,
        async (given, destination, storedTypes, upgradedTypes) => {
          const rules = given.map(({ yes, ...each }) => ({ ...each, when: () => yes }))
          const routing = new Routing({ version: 1, rules, default: 'hook', destinations })
          const isRouted = rules.some((each) => each.to.includes(destination) && fits(each, storedTypes))
          if (isRouted) equal(new Expansion(routing.stored).of(storedTypes).includes(destination), true)

          const event = EventEnvelope.of({ ...upgradedTypes, payloadJson: '1' })
          const ruled = await new EventRules(routing, JsonCodec.getDefault()).apply(event, {
            row: { ...storedTypes, destination },
            isInRules: false,
          })
          const saysYes = given.some(
            (each) => each.yes && each.to.includes(destination) && fits(each, storedTypes),
          )
          equal(ruled, isRouted && !saysYes ? filtered : event)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('a rule that names a defined event covers its aliases, at the write and at delivery', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(types, {
          minLength: 1,
          maxLength: 4,
          selector: (each) => JSON.stringify([each.aggregateType, each.eventType]),
        }),
        types,
        to,
        async ([current, ...aliases], other, destinationsOfRule) => {
          const { eventType, aggregateType: ofAggregate } = current!
          const events = defineEvent(eventType, { aggregateType: ofAggregate, aliases })
          const routing = new Routing({
            version: 1,
            rules: [{ events, to: destinationsOfRule, when: () => false }],
            default: 'hook',
            destinations,
          })
          const rules = new EventRules(routing, JsonCodec.getDefault())
          const upgraded = EventEnvelope.of({ ...current!, payloadJson: '1' })
          for (const stored of [current!, ...aliases, other]) {
            const isCovered = [current!, ...aliases].some(
              (each) => each.eventType === stored.eventType && each.aggregateType === stored.aggregateType,
            )
            deepEqual(new Expansion(routing.stored).of(stored), isCovered ? destinationsOfRule : ['hook'])
            const destination = destinationsOfRule[0]!
            const delivery = { row: { ...stored, destination }, isInRules: false }
            equal(await rules.apply(upgraded, delivery), isCovered ? filtered : upgraded)
            equal(delivery.isInRules, false)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('a rule may leave an alias to a rule before it, and no rule may come after one that covers it', () => {
    const before = { events: 'Placed', aggregateType: 'Order', to: 'mail' }
    const renamed = {
      events: defineEvent('Created', { aggregateType: 'Order', aliases: ['Placed'] }),
      to: ['mail', 'kafka'],
    }
    const { stored } = new Routing({ version: 1, rules: [before, renamed], destinations })
    deepEqual(new Expansion(stored).of({ eventType: 'Placed', aggregateType: 'Order' }), ['mail', 'kafka'])
    throws(() => new Routing({ version: 1, rules: [renamed, before], destinations }), {
      code: 'OUTBOX_DUPLICATE_RULE',
      message: /Rule 2 of the routing sends "Placed" to "mail", as rule 1 does/,
    })
  })
})
