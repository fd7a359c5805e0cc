import { EventStatus } from '../store/event-status.ts'
import type {
  LivingProcess,
  OldestDue,
  PauseTarget,
  StoreDescription,
  StoredRow,
  StoreWith,
  Tally,
  TallyPart,
} from '../store/index.ts'
import { type DeliveryRate, readRates } from './delivery-rates.ts'
import type { EventState } from './event-filter.ts'
import { countBound, scanWindow } from './limits.ts'

/** The state of an outbox at a glance. */
export interface Overview {
  readonly store: StoreDescription
  /** The time of the database's clock, in epoch milliseconds. */
  readonly at: number
  readonly counts: Readonly<Record<'NEW' | 'RETRY' | 'DONE' | 'DEAD' | 'PENDING' | 'BLOCKED', OverviewCount>>
  /** The same by status, event type and destination, the largest first. */
  readonly groups: readonly OverviewGroup[]
  /** The event that has been due for the longest time, with its age; undefined if none is due. */
  readonly oldestDue: (OldestDue & { readonly ageMs: number }) | undefined
  readonly paused: readonly PauseTarget[]
  /** Ordering keys of blocked events with their destinations: those of up to 20 of the newest such events. */
  readonly blockedKeys: readonly OverviewKey[]
  /** Parked ordering keys, up to 100. */
  readonly parkedKeys: readonly string[]
  /** Deliveries of the last five minutes, by event type and destination. */
  readonly rates: readonly DeliveryRate[]
  /** Every living process, with its last report. */
  readonly processes: readonly LivingProcess[]
  /** Types of pending events that no living process has a listener for. */
  readonly typesWithoutListener: readonly string[]
}

/** An ordering key of one destination. */
export interface OverviewKey {
  readonly orderingKey: string
  readonly destination: string
}

/** A number of events. Up to 10,000 it is exact, above that it may be an estimate. */
export interface OverviewCount {
  readonly count: number
  readonly isExact: boolean
}

/** The number of events with the same status, type and destination. */
export interface OverviewGroup extends OverviewCount {
  readonly status: Exclude<EventState, 'PENDING' | 'BLOCKED'>
  readonly eventType: string
  readonly destination: string
}

const names = ['NEW', 'DONE', 'RETRY', 'DEAD'] as const

/** Reads the overview. It costs the same, however many events there are. */
export async function readOverview<Tx>(store: StoreWith<Tx, 'looks'>): Promise<Overview> {
  const { looks, controls, reports } = store
  const [description, tally, paused, rates, processes] = await Promise.all([
    looks.describe(),
    looks.tally({ bound: countBound }),
    controls?.paused() ?? [],
    reports === undefined ? [] : readRates(reports),
    reports?.living() ?? [],
  ])
  const filter = { isBlocked: true } as const
  const blocked =
    tally.blocked === 0
      ? []
      : (await looks.scan({ filter, order: 'newest', limit: 20, window: scanWindow })).rows
  const groups = groupsOf(tally)

  return {
    store: description,
    at: tally.at,
    counts: countsOf(tally, groups),
    groups,
    oldestDue: tally.oldestDue && { ...tally.oldestDue, ageMs: tally.at - tally.oldestDue.availableAt },
    paused,
    blockedKeys: keysOf(blocked),
    parkedKeys: tally.parked,
    rates,
    processes,
    typesWithoutListener: typesWithoutListener(tally, processes),
  }
}

function keysOf(rows: readonly StoredRow[]): readonly OverviewKey[] {
  const keys = new Map<string, OverviewKey>()
  for (const { orderingKey, destination } of rows) {
    if (orderingKey !== null) keys.set(`${destination}\n${orderingKey}`, { orderingKey, destination })
  }
  return [...keys.values()]
}

/**
 * Returns the types of pending events that no living process has a listener for. A process that only writes
 * has no listeners. One of an older version does not report its listeners, so nothing is known then.
 */
export function typesWithoutListener(
  { pending }: Tally,
  processes: readonly LivingProcess[],
): readonly string[] {
  const delivering = processes.filter(({ mode }) => mode !== null)
  if (delivering.some(({ report }) => report === null || report.types === null)) return []
  const known = new Set(delivering.flatMap(({ report }) => report!.types!))
  const types = new Set(pending.groups.map(({ eventType }) => eventType))
  return [...types].filter((type) => !known.has(type)).sort()
}

/** Returns the numbers of rows of a tally, by state. */
export function tallyCounts(tally: Tally): Overview['counts'] {
  return countsOf(tally, groupsOf(tally))
}

function groupsOf({ pending, dead, all }: Tally): readonly OverviewGroup[] {
  const done = doneOf(all, pending.total + dead.total)
  return [...scaled(pending), ...scaled(dead), ...scaled(done)].sort((a, b) => b.count - a.count)
}

// DONE rows have no index of their own. Those among the newest rows show how all of them are divided.
function doneOf({ groups, total, isExact }: TallyPart, others: number): TallyPart {
  const done = groups.filter(({ status }) => status === EventStatus.DONE)
  const counted = done.reduce((sum, { count }) => sum + count, 0)
  return { groups: done, total: isExact ? counted : Math.max(counted, total - others), isExact }
}

function scaled({ groups, total, isExact }: TallyPart): readonly OverviewGroup[] {
  const counted = groups.reduce((sum, { count }) => sum + count, 0)
  const factor = isExact || counted === 0 ? 1 : total / counted
  return groups.map(({ status, eventType, destination, count }) => ({
    status: names[status],
    eventType,
    destination,
    count: Math.round(count * factor),
    isExact,
  }))
}

function countsOf(
  { pending, dead, all, blocked }: Tally,
  groups: readonly OverviewGroup[],
): Overview['counts'] {
  const of = (name: (typeof names)[number], isExact: boolean): OverviewCount => {
    const alike = groups.filter(({ status }) => status === name)
    return { count: alike.reduce((sum, { count }) => sum + count, 0), isExact }
  }
  const done = doneOf(all, pending.total + dead.total)

  return {
    NEW: of('NEW', pending.isExact),
    RETRY: of('RETRY', pending.isExact),
    // The newest rows may all be pending: then no group of DONE rows is known, but their number is.
    DONE: { count: done.total, isExact: done.isExact },
    DEAD: { count: dead.total, isExact: dead.isExact },
    PENDING: { count: pending.total, isExact: pending.isExact },
    BLOCKED: { count: blocked, isExact: pending.isExact || dead.isExact },
  }
}
