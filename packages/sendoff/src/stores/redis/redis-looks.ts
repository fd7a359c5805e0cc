import { addFailure } from '../failure-groups.ts'
import type { EventStatus } from '../../store/event-status.ts'
import {
  type FailureGroup,
  matchesFilter,
  maxFailureText,
  type OutboxLooks,
  type ScanAnswer,
  type ScanRequest,
  scanScope,
  type StoredRow,
  type Tally,
  type TallyGroup,
  type TallyPart,
} from '../../store/index.ts'
import type { RunScript } from './drivers/run-script.ts'
import { queryRows } from './query-rows.ts'
import { memberOf } from './redis-keyspace.ts'
import { storedRow } from './row-text.ts'
import { failuresScript, overviewScript, scanScript, tallyScript } from './scripts/look-scripts.ts'

/** How many rows one script reads. Redis does nothing else meanwhile. */
const rowsPerScript = 500

/** How many rows stand for all others if there are too many to count. */
const sampleSize = 1_000

type OverviewValues = readonly [
  now: number,
  highest: string,
  counts: readonly (string | null)[],
  unblocked: number,
  oldest: readonly [string, string, string, string] | null,
]

type RowsOf = 'written' | 'pending' | 'dead'

/** The rows of a Redis store, as operators see them. */
export function redisLooks(run: RunScript, prefix: string): OutboxLooks {
  return {
    describe: async () => ({ kind: 'redis', name: prefix }),
    tally: ({ bound }) => tally(run, bound),
    async bound() {
      const [at, seq] = await overview(run)
      return { at, seq: Number(seq) }
    },
    scan: (request) => scan(run, request),
    failures: ({ newest }) => failures(run, newest),
  }
}

async function overview(run: RunScript): Promise<OverviewValues> {
  return (await run(overviewScript, [])) as OverviewValues
}

async function tally(run: RunScript, bound: number): Promise<Tally> {
  const [at, , texts, unblocked, oldest] = await overview(run)
  const [fresh = 0, done = 0, retried = 0, dead = 0] = texts.map(Number)
  const pending = fresh + retried
  return {
    at,
    pending: await part(run, pending === unblocked ? 'pending' : 'written', pending, bound, [0, 2]),
    dead: await part(run, 'dead', dead, bound, [3]),
    all: await part(run, 'written', pending + done + dead, bound, [0, 1, 2, 3]),
    blocked: Math.min(bound, Math.max(0, pending - unblocked)),
    parked: [],
    oldestDue:
      oldest === null
        ? undefined
        : {
            eventId: oldest[0],
            destination: oldest[1],
            eventType: oldest[2],
            availableAt: Number(oldest[3]),
          },
  }
}

/** Counts rows in groups. The number of all of them is always known; only groups of many are estimates. */
async function part(
  run: RunScript,
  from: RowsOf,
  total: number,
  bound: number,
  statuses: readonly EventStatus[],
): Promise<TallyPart> {
  if (total <= 0) return { groups: [], total: 0, isExact: true }
  const isExact = total <= bound
  const groups = new Map<string, TallyGroup>()
  let below = ''
  let counted = 0
  while (counted < (isExact ? total : Math.min(sampleSize, bound))) {
    const answer = await run(tallyScript, [from, below, String(Math.min(rowsPerScript, bound + 1))])
    const [found, last] = answer as [[name: string, count: number][], string | null]
    for (const [name, count] of found) {
      const [status, eventType, destination] = JSON.parse(name) as [EventStatus, string, string]
      if (!statuses.includes(status)) continue
      const before = groups.get(name)?.count ?? 0
      groups.set(name, { status, eventType, destination, count: before + count })
      counted += count
    }
    if (last === null) break
    below = last
  }
  return { groups: [...groups.values()], total, isExact }
}

// Rows are in write order. Their numbers follow the clock, as ids do.
async function scan(run: RunScript, request: ScanRequest): Promise<ScanAnswer> {
  const { filter, order, after, limit, window } = request
  if (filter.eventId !== undefined) return ofEvent(run, request, filter.eventId)

  const from = await sourceOf(run, request)
  const rows: StoredRow[] = []
  let place: StoredRow | undefined
  for (let left = window; left > 0;) {
    const size = Math.min(left, rowsPerScript)
    const behind = place?.seq ?? after?.seq
    const values = [
      from,
      order === 'newest' ? '1' : '0',
      behind === undefined ? '' : memberOf(behind),
      String(size),
    ]
    const seen = ((await run(scanScript, values)) as Parameters<typeof storedRow>[0][]).map(storedRow)
    for (const [index, row] of seen.entries()) {
      if (!matchesFilter(row, filter)) continue
      rows.push(row)
      const isLast = index === seen.length - 1 && seen.length < size
      if (rows.length === limit) return { rows, next: isLast ? undefined : placeOf(row) }
    }
    if (seen.length < size) return { rows, next: undefined }
    place = seen.at(-1)!
    left -= size
  }
  return { rows, next: place && placeOf(place) }
}

async function ofEvent(
  run: RunScript,
  { filter, order, after, limit }: ScanRequest,
  eventId: string,
): Promise<ScanAnswer> {
  const found = await queryRows(run, { eventId, limit: 1_000 })
  const sign = order === 'newest' ? -1 : 1
  const rows = found
    .filter((row) => matchesFilter(row, filter) && (after === undefined || sign * (row.seq - after.seq) > 0))
    .sort((a, b) => sign * (a.seq - b.seq))
  const page = rows.slice(0, limit)
  return { rows: page, next: rows.length > limit ? placeOf(page.at(-1)!) : undefined }
}

// Blocked rows are not among those that can fall due.
async function sourceOf(run: RunScript, { filter }: ScanRequest): Promise<RowsOf> {
  const scope = scanScope(filter)
  if (scope === 'dead') return 'dead'
  if (scope !== 'pending' && scope !== 'key') return 'written'
  const [, , counts, unblocked] = await overview(run)
  return Number(counts[0]) + Number(counts[2]) === unblocked ? 'pending' : 'written'
}

async function failures(run: RunScript, newest: number) {
  const groups = new Map<string, FailureGroup>()
  let below = ''
  let examined = 0
  let isComplete = false
  while (examined < newest && !isComplete) {
    const size = Math.min(rowsPerScript, newest - examined)
    // A character takes up to four bytes.
    const answer = await run(failuresScript, [below, String(size), String(4 * maxFailureText)])
    const rows = answer as [string, string, string, string, number, string][]
    for (const [, eventType, destination, text, endedAt, eventId] of rows) {
      addFailure(groups, { eventType, destination, error: text, endedAt, eventId })
    }
    examined += rows.length
    isComplete = rows.length < size
    below = rows.at(-1)?.[0] ?? below
  }
  if (!isComplete) isComplete = ((await run(failuresScript, [below, '1', '1'])) as unknown[]).length === 0
  return { groups: [...groups.values()], examined, isComplete }
}

function placeOf({ eventId, destination, seq }: StoredRow) {
  return { eventId, destination, seq }
}
