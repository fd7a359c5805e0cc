import { didYouMean } from '../closest-name.ts'
import { OutboxError } from '../errors.ts'
import { checkNames } from '../event/event-fields.ts'
import { isDefinedEvent, nameOf } from '../event/event-type.ts'
import {
  anything,
  callable,
  checkOptions,
  count,
  countOrInfinity,
  duration,
  having,
  invalidOption,
  text,
} from '../options.ts'
import {
  maxRoutingVersion,
  type RoutingContent,
  type StoredRouting,
  type StoredRule,
} from '../store/index.ts'
import { maxDestinationLength } from '../store/names.ts'
import type { EventTypeLike } from './listener-registry.ts'
import type { DestinationOptions, RoutingOptions, RoutingRule } from './routing-options.ts'
import { fitsPattern } from './type-pattern.ts'

/** The most named destinations of a routing. Each has its own queues and its own poller. */
const maxDestinations = 50

/** A checked routing: what the table keeps of it, and what a worker needs to deliver by it. */
export class Routing {
  readonly stored: StoredRouting
  /** The destinations that this process knows, with their settings. The empty one is always among them. */
  readonly destinations: ReadonlyMap<string, DestinationOptions>
  readonly #rules: readonly DeliveryRule[]

  constructor(options: RoutingOptions) {
    checkRouting(options)
    this.destinations = new Map([['', {}], ...Object.entries(options.destinations)])
    for (const [name, settings] of this.destinations) checkDestination(name, settings)
    const named = this.destinations.size - 1
    if (named > maxDestinations) {
      throw invalidRouting(`names ${named} destinations; at most ${maxDestinations} are possible.`)
    }
    const known = [...this.destinations.keys()]
    const rest = namesOf('default', options.default ?? '', known)
    const rules = options.rules.map((rule, index) => ({ rule, ...partsOf(rule, index, known) }))
    refuseDuplicates(rules)
    const content: RoutingContent = { rules: rules.flatMap(({ parts }) => parts), default: rest }
    this.stored = { version: options.version, content: JSON.stringify(content) }
    this.#rules = rules.flatMap(({ rule, parts }) => parts.map((part) => deliveryRule(rule, part)))
  }

  /**
   * Returns the rules by which an event goes to a destination, in order. They go by the type under which the
   * event is stored, as at its write. It is empty if the event was written by another version of the routing,
   * or takes the default.
   */
  rulesFor(destination: string, { aggregateType, eventType }: RoutedType): readonly DeliveryRule[] {
    return this.#rules.filter(
      (rule) => rule.to.has(destination) && rule.fitsType(eventType) && rule.fitsAggregate(aggregateType),
    )
  }

  /** Whether a rule for this destination filters or maps anything. */
  changes(destination: string): boolean {
    return this.#rules.some(
      ({ to, when, map }) => to.has(destination) && (when !== undefined || map !== undefined),
    )
  }
}

/** A rule as a worker applies it at delivery. */
export interface DeliveryRule extends Pick<RoutingRule, 'when' | 'map'> {
  readonly to: ReadonlySet<string>
  readonly fitsType: (name: string) => boolean
  readonly fitsAggregate: (name: string) => boolean
}

interface RoutedType {
  readonly aggregateType: string
  readonly eventType: string
}

function deliveryRule({ when, map }: RoutingRule, { type, aggregate, to }: StoredRule): DeliveryRule {
  return {
    to: new Set(to),
    fitsType: fitsPattern(type),
    fitsAggregate: fitsPattern(aggregate),
    ...(when && { when }),
    ...(map && { map }),
  }
}

function checkRouting(options: RoutingOptions): void {
  checkOptions('routing', options, {
    version: (value) =>
      count(value) ?? ((value as number) > maxRoutingVersion ? `at most ${maxRoutingVersion}` : undefined),
    rules: (value) => (Array.isArray(value) ? undefined : 'a list of rules'),
    default: anything,
    destinations: having(),
  })
  for (const name of ['version', 'rules', 'destinations'] as const) {
    if (options[name] === undefined) throw invalidRouting(`needs "${name}".`)
  }
}

function checkDestination(name: string, settings: DestinationOptions): void {
  if (name.length > maxDestinationLength) {
    throw invalidRouting(
      `has a destination with a name of ${name.length} characters; at most ${maxDestinationLength} are stored.`,
    )
  }
  if (!/^[A-Za-z0-9_.:-]*$/.test(name)) {
    throw invalidRouting(
      `has the destination ${JSON.stringify(name)}. Use letters, digits, underscores, hyphens, dots and colons.`,
    )
  }
  checkOptions(`destination "${name}"`, settings, {
    concurrency: count,
    timeoutMs: duration,
    retry: having('computeDelayMs'),
    maxAttempts: countOrInfinity,
    circuitBreaker: (value) => (value === false ? undefined : having()(value)),
  })
}

/** A rule, and what the table keeps of it: a part for each type that it names, and then for their aliases. */
interface RuleParts {
  readonly rule: RoutingRule
  readonly parts: readonly StoredRule[]
  /** How many parts are not of aliases. */
  readonly named: number
}

function partsOf(rule: RoutingRule, index: number, known: readonly string[]): Omit<RuleParts, 'rule'> {
  const place = `rule ${index + 1}`
  const what = `${place} of routing`
  checkOptions(what, rule, {
    to: anything,
    events: anything,
    aggregateType: text,
    when: callable,
    map: callable,
  })
  if (rule.to === undefined) throw invalidRouting(`has a rule without "to": ${place}.`)

  const to = namesOf(place, rule.to, known)
  const { events = '*' } = rule
  const types = Array.isArray(events) ? (events as readonly EventTypeLike[]) : [events as EventTypeLike]
  if (types.length === 0) throw invalidOption(what, 'events', events, () => 'at least one type of event')
  const names = types.map((type) =>
    isDefinedEvent(type)
      ? { eventType: type.name, aggregateType: type.aggregateType }
      : { eventType: typeof type === 'object' && type !== null ? nameOf(type) : type, aggregateType: '*' },
  )
  const aliases = types.flatMap((type) => (isDefinedEvent(type) ? type.aliases : []))
  const parts = [...names, ...aliases].map(({ eventType, aggregateType }) => {
    const found = { eventType, aggregateType: rule.aggregateType ?? aggregateType }
    checkNames(
      found,
      (problem) => new OutboxError('OUTBOX_INVALID_OPTION', `Rule ${index + 1} of the routing ${problem}`),
    )
    return { type: eventType, aggregate: found.aggregateType, to }
  })
  return { parts, named: names.length }
}

function namesOf(what: string, given: unknown, known: readonly string[]): readonly string[] {
  const names: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (names.length === 0) throw invalidRouting(`has no destination in ${what}. Name at least one.`)
  return [...new Set(names.map((name) => knownName(what, name, known)))]
}

function knownName(what: string, name: unknown, known: readonly string[]): string {
  if (typeof name !== 'string') throw invalidRouting(`has a destination in ${what} that is not a name.`)
  if (known.includes(name)) return name
  throw new OutboxError(
    'OUTBOX_UNKNOWN_DESTINATION',
    `The routing sends events to "${name}" in ${what}, but "destinations" does not name it.` +
      `${didYouMean(name, known)} Add it there: destinations: { ${JSON.stringify(name)}: {} }.`,
  )
}

/**
 * Refuses a rule that can never decide anything: one before it has its type and destination, and no `when`. A
 * rule may leave an alias of its events to a rule before it.
 */
function refuseDuplicates(rules: readonly RuleParts[]): void {
  const taken = new Map<string, number>()
  for (const [index, { rule, parts, named }] of rules.entries()) {
    for (const [place, { type, aggregate, to }] of parts.entries()) {
      for (const destination of to) {
        const name = JSON.stringify([type, aggregate, destination])
        const before = taken.get(name)
        if (before !== undefined && place < named) {
          throw new OutboxError(
            'OUTBOX_DUPLICATE_RULE',
            `Rule ${index + 1} of the routing sends "${type}" to "${destination}", as rule ${before} does for every such event. Remove one of them, or give rule ${before} a "when".`,
          )
        }
        if (rule.when === undefined && before === undefined) taken.set(name, index + 1)
      }
    }
  }
}

function invalidRouting(problem: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_OPTION', `The routing ${problem}`)
}
