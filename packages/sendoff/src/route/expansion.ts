import type { RoutingContent, StoredRouting } from '../store/index.ts'
import { fitsPattern } from './type-pattern.ts'

/** How many types are remembered at most. Programs that make up types would fill the memory otherwise. */
const maxKnown = 10_000

/**
 * The destinations of each type of event, by a stored routing. The same content gives the same destinations
 * in every process and in SQL.
 */
export class Expansion {
  readonly version: number
  readonly #rules: readonly Rule[]
  readonly #default: readonly string[]
  readonly #known = new Map<string, readonly string[]>()

  constructor({ version, content }: StoredRouting) {
    const { rules, default: rest } = JSON.parse(content) as RoutingContent
    this.version = version
    this.#rules = rules.map(({ type, aggregate, to }) => ({
      fitsType: fitsPattern(type),
      fitsAggregate: fitsPattern(aggregate),
      to,
    }))
    this.#default = rest
  }

  /** Returns the destinations of an event: at least one, each once. */
  of({ aggregateType, eventType }: TypedEvent): readonly string[] {
    const name = `${eventType}\0${aggregateType}`
    const known = this.#known.get(name)
    if (known !== undefined) return known

    const fitting = this.#rules.filter(
      (rule) => rule.fitsType(eventType) && rule.fitsAggregate(aggregateType),
    )
    const found = fitting.length === 0 ? this.#default : [...new Set(fitting.flatMap(({ to }) => to))]
    if (this.#known.size >= maxKnown) this.#known.clear()
    this.#known.set(name, found)
    return found
  }

  /** All destinations that an event can have. */
  get destinations(): readonly string[] {
    return [...new Set([...this.#rules.flatMap(({ to }) => to), ...this.#default])]
  }
}

interface TypedEvent {
  readonly aggregateType: string
  readonly eventType: string
}

interface Rule {
  readonly fitsType: (name: string) => boolean
  readonly fitsAggregate: (name: string) => boolean
  readonly to: readonly string[]
}
