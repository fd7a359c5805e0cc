import { errorClassOf, type FailureGroup, type OutboxLooks } from '../store/index.ts'
import { countBound } from './limits.ts'
import { normalError } from './normal-error.ts'

/** DEAD events, grouped by what went wrong. */
export interface FailureReport {
  /** The largest groups first. */
  readonly groups: readonly GroupedFailure[]
  /** How many DEAD events were examined, the newest ones. */
  readonly examined: number
  /** Whether these were all DEAD events. */
  readonly isComplete: boolean
}

/** DEAD events with the same error class, type and destination, and the same text apart from ids. */
export interface GroupedFailure {
  readonly errorClass: string
  /** The error text, with `<id>`, `<n>` and the like in place of what differs. */
  readonly text: string
  readonly eventType: string
  readonly destination: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  /** One event of the group, and its error as it is stored, cut at 300 characters. */
  readonly sample: { readonly eventId: string; readonly destination: string; readonly error: string }
}

/** Groups the newest 10,000 DEAD events. */
export async function readFailures(looks: OutboxLooks): Promise<FailureReport> {
  const { groups, examined, isComplete } = await looks.failures({ newest: countBound })
  const merged = new Map<string, GroupedFailure>()
  for (const group of groups) {
    const text = normalError(group.error)
    const name = JSON.stringify([text, group.eventType, group.destination])
    merged.set(name, together(merged.get(name), group, text))
  }
  return {
    groups: [...merged.values()].sort((a, b) => b.count - a.count || b.lastAt - a.lastAt),
    examined,
    isComplete,
  }
}

function together(known: GroupedFailure | undefined, group: FailureGroup, text: string): GroupedFailure {
  const { eventType, destination, error, count, firstAt, lastAt, sample } = group
  const isNewer = known === undefined || lastAt > known.lastAt
  return {
    errorClass: errorClassOf(error) ?? '',
    text,
    eventType,
    destination,
    count: count + (known?.count ?? 0),
    firstAt: Math.min(firstAt, known?.firstAt ?? firstAt),
    lastAt: Math.max(lastAt, known?.lastAt ?? lastAt),
    sample: isNewer ? { eventId: sample, destination, error } : known.sample,
  }
}
