import {
  type DestinationReport,
  errorClassOf,
  filteredEnding,
  type LivingProcess,
  type MinuteStatistics,
  type RoutingContent,
  type StoreWith,
  type TallyPart,
} from '../store/index.ts'
import { rateMinutes } from './delivery-rates.ts'
import { countBound } from './limits.ts'
import type { OverviewCount } from './overview.ts'

/** The destinations of an outbox at a glance. */
export interface DestinationOverview {
  /** The version of the routing that the table keeps; undefined without one. */
  readonly routingVersion: number | undefined
  readonly destinations: readonly DestinationState[]
}

/** One destination: of the routing, of a process, or of an event in the table. */
export interface DestinationState {
  readonly destination: string
  /** Whether the routing of the table sends events to it. */
  readonly isRouted: boolean
  readonly isPaused: boolean
  readonly pending: OverviewCount
  readonly dead: OverviewCount
  /** The minute of its last success within a day, in epoch milliseconds; undefined if there was none. */
  readonly lastSuccessAt: number | undefined
  /** Deliveries per minute, over the last five minutes. */
  readonly perMinute: Readonly<Record<'done' | 'failed' | 'dead' | 'deferred' | 'filtered', number>>
  /** The classes of the errors of its newest DEAD events, the most frequent first. */
  readonly errors: readonly { readonly errorClass: string; readonly count: number }[]
  /** The processes that know it. */
  readonly processes: readonly (Omit<DestinationReport, 'destination'> & { readonly id: string })[]
}

const dayMs = 86_400_000
const maxStatistics = 50_000
const maxClasses = 10

/** Reads the state of all destinations. It costs the same, however many events there are. */
export async function readDestinations<Tx>(store: StoreWith<Tx, 'looks'>): Promise<DestinationOverview> {
  const { looks, controls, reports, routing } = store
  const [tally, failures, paused, statistics, processes, stored] = await Promise.all([
    looks.tally({ bound: countBound }),
    looks.failures({ newest: countBound }),
    controls?.paused() ?? [],
    reports?.statistics({ lastMs: dayMs, limit: maxStatistics }) ?? [],
    reports?.living() ?? [],
    routing?.current() ?? null,
  ])
  const content = stored === null ? undefined : (JSON.parse(stored.content) as RoutingContent)
  const routed = new Set(content && [...content.rules.flatMap(({ to }) => to), ...content.default])
  const names = new Set([
    ...(routed.size === 0 ? [''] : routed),
    ...tally.pending.groups.map(({ destination }) => destination),
    ...tally.dead.groups.map(({ destination }) => destination),
    ...processes.flatMap(({ report }) => report?.destinations?.map((each) => each.destination) ?? []),
  ])

  return {
    routingVersion: stored?.version,
    destinations: [...names].sort().map((destination) => ({
      destination,
      isRouted: routed.has(destination) || (routed.size === 0 && destination === ''),
      isPaused: paused.some((target) => 'destination' in target && target.destination === destination),
      pending: countOf(tally.pending, destination),
      dead: countOf(tally.dead, destination),
      lastSuccessAt: lastSuccess(statistics, destination),
      perMinute: perMinute(statistics, destination, tally.at),
      errors: classesOf(failures.groups.filter((group) => group.destination === destination)),
      processes: processes.flatMap((process) => reportOf(process, destination)),
    })),
  }
}

function countOf({ groups, total, isExact }: TallyPart, destination: string): OverviewCount {
  const sum = (some: typeof groups) => some.reduce((count, group) => count + group.count, 0)
  const counted = sum(groups)
  const own = sum(groups.filter((group) => group.destination === destination))
  return { count: isExact || counted === 0 ? own : Math.round((own * total) / counted), isExact }
}

// Statistics come newest minute first.
function lastSuccess(statistics: readonly MinuteStatistics[], destination: string): number | undefined {
  return statistics.find((each) => each.destination === destination && each.done > 0)?.minute
}

function perMinute(
  statistics: readonly MinuteStatistics[],
  destination: string,
  now: number,
): DestinationState['perMinute'] {
  const recent = statistics.filter(({ minute }) => minute >= now - rateMinutes * 60_000)
  const own = recent.filter((each) => each.destination === destination)
  const filtered = recent.filter((each) => each.destination === `${destination}${filteredEnding}`)
  const rate = (some: readonly MinuteStatistics[], name: 'done' | 'failed' | 'dead' | 'deferred') =>
    some.reduce((sum, each) => sum + each[name], 0) / rateMinutes
  return {
    done: rate(own, 'done'),
    failed: rate(own, 'failed'),
    dead: rate(own, 'dead'),
    deferred: rate(own, 'deferred'),
    filtered: rate(filtered, 'done'),
  }
}

function classesOf(
  groups: readonly { readonly error: string; readonly count: number }[],
): DestinationState['errors'] {
  const counts = new Map<string, number>()
  for (const { error, count } of groups) {
    const errorClass = errorClassOf(error) ?? ''
    counts.set(errorClass, (counts.get(errorClass) ?? 0) + count)
  }
  return [...counts]
    .map(([errorClass, count]) => ({ errorClass, count }))
    .sort((a, b) => b.count - a.count)
    .slice(0, maxClasses)
}

function reportOf({ id, report }: LivingProcess, destination: string): DestinationState['processes'] {
  const own = report?.destinations?.find((each) => each.destination === destination)
  if (own === undefined) return []
  const { hasListener, circuitBreaker, queues, limits } = own
  return [{ id, hasListener, circuitBreaker, queues, ...(limits && { limits }) }]
}
