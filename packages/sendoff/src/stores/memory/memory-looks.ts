import { addFailure } from '../failure-groups.ts'
import { randomUUID } from 'node:crypto'
import { EventStatus, isPending } from '../../store/event-status.ts'
import {
  type FailureGroup,
  inScanOrder,
  matchesFilter,
  maxParkedKeys,
  type OutboxLooks,
  type ScanAnswer,
  scanScope,
  type TallyGroup,
  type TallyPart,
} from '../../store/index.ts'
import type { MemoryControls } from './memory-controls.ts'
import type { MemoryEvents } from './memory-events.ts'
import { asStoredRow, type MemoryRow } from './memory-row.ts'

/** The table of a memory store, as operators see it. Counts are always exact here. */
export function memoryLooks(now: () => number, events: MemoryEvents, controls: MemoryControls): OutboxLooks {
  const name = randomUUID()

  return {
    describe: async () => ({ kind: 'memory', name }),

    async tally({ bound }) {
      const rows = events.matching({}, Infinity)
      const [oldest] = events.dueFrom(undefined, now(), 1)
      return {
        at: now(),
        pending: tallyOf(rows.filter(({ status }) => isPending(status))),
        dead: tallyOf(rows.filter(({ status }) => status === EventStatus.DEAD)),
        all: tallyOf(rows),
        blocked: Math.min(bound, rows.filter(isBlocked).length),
        parked: controls.allParkedKeys.slice(0, maxParkedKeys),
        oldestDue: oldest && {
          eventId: oldest.eventId,
          destination: oldest.destination,
          eventType: oldest.eventType,
          availableAt: oldest.availableAt,
        },
      }
    },

    async bound() {
      return { at: now(), seq: Math.max(0, ...events.matching({}, Infinity).map(({ seq }) => seq)) }
    },

    async scan({ filter, order, after, limit, window }): Promise<ScanAnswer> {
      const inOrder = inScanOrder(scanScope(filter), order)
      const rows = events
        .matching({}, Infinity)
        .filter(
          (row) => isInScope(row, scanScope(filter)) && (after === undefined || inOrder(row, after) > 0),
        )
        .sort(inOrder)
      const examined = rows.slice(0, window)
      const matches = examined.filter((row) => matchesFilter(row, filter)).slice(0, limit)
      const end = matches.length === limit ? matches.at(-1) : examined.at(-1)
      return {
        rows: matches.map(asStoredRow),
        next: end === undefined || end === rows.at(-1) ? undefined : placeOf(end),
      }
    },

    async failures({ newest }) {
      const dead = events.matching({ status: [EventStatus.DEAD] }, Infinity)
      const examined = dead.slice(-newest)
      return {
        groups: failureGroups(examined),
        examined: examined.length,
        isComplete: examined.length === dead.length,
      }
    },
  }
}

function placeOf({ eventId, destination, seq }: MemoryRow): {
  eventId: string
  destination: string
  seq: number
} {
  return { eventId, destination, seq }
}

function isInScope(row: MemoryRow, scope: ReturnType<typeof scanScope>): boolean {
  if (scope === 'pending' || scope === 'key') return isPending(row.status)
  if (scope === 'dead') return row.status === EventStatus.DEAD
  return scope === 'all' || isBlocked(row)
}

function isBlocked({ status, blockedAt }: MemoryRow): boolean {
  return isPending(status) && blockedAt !== null
}

function tallyOf(rows: readonly MemoryRow[]): TallyPart {
  const groups = new Map<string, TallyGroup>()
  for (const { status, eventType, destination } of rows) {
    const name = JSON.stringify([status, eventType, destination])
    const count = (groups.get(name)?.count ?? 0) + 1
    groups.set(name, { status, eventType, destination, count })
  }
  return { groups: [...groups.values()], total: rows.length, isExact: true }
}

function failureGroups(rows: readonly MemoryRow[]): readonly FailureGroup[] {
  const groups = new Map<string, FailureGroup>()
  for (const { eventType, destination, lastError, doneAt, createdAt, eventId } of rows) {
    const endedAt = doneAt ?? createdAt
    addFailure(groups, { eventType, destination, error: lastError ?? '', endedAt, eventId })
  }
  return [...groups.values()]
}
