/**
 * Which events go to which destinations. It is state of the table, so that every writer gives an event the
 * same destinations, whatever its version or language.
 */
export interface OutboxRouting {
  /**
   * Stores a routing, unless one with the same or a higher version is stored. Returns the one that is stored
   * then. In the same step, shuts out code that does not know destinations.
   */
  publish(routing: StoredRouting): Promise<StoredRouting>

  /** Returns the stored routing; null if there is none. */
  current(): Promise<StoredRouting | null>
}

/** A routing as it is stored. */
export interface StoredRouting {
  /** Rises with every change of the content. */
  readonly version: number
  /** A `RoutingContent` as JSON. */
  readonly content: string
}

/** The part of a routing that writers need. */
export interface RoutingContent {
  /** Every rule that fits an event adds its destinations. */
  readonly rules: readonly StoredRule[]
  /** The destinations of an event that no rule fits. */
  readonly default: readonly string[]
}

/** A rule as it is stored. In both patterns, each `*` stands for any characters. */
export interface StoredRule {
  readonly type: string
  readonly aggregate: string
  readonly to: readonly string[]
}

/** The highest version of a routing. */
export const maxRoutingVersion = 2_147_483_647

/** Returns a version as text whose order is that of the numbers, for stores that keep it as a name. */
export function routingName(version: number): string {
  return String(version).padStart(10, '0')
}

/** Returns the routing with the highest version, for stores that keep it as a name; null if there is none. */
export function latestRouting(
  stored: readonly { readonly name: string; readonly content: string }[],
): StoredRouting | null {
  const latest = stored.reduce<(typeof stored)[number] | undefined>(
    (last, each) => (last === undefined || each.name > last.name ? each : last),
    undefined,
  )
  return latest === undefined ? null : { version: Number(latest.name), content: latest.content }
}
