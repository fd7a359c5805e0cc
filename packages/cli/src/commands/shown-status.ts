import type { DeliveryMinute, DestinationOverview, DestinationState, Overview } from 'sendoff/admin'
import { flowed } from '../terminal/fitted-text.ts'
import type { Paint } from '../terminal/paint.ts'
import { printable } from '../terminal/printable.ts'
import { countText, durationText, estimateText, timeJson } from '../terminal/shown-values.ts'
import { sparkline } from '../terminal/sparkline.ts'
import { type Column, tableText } from '../terminal/table.ts'
import { nodeJson } from './nodes.ts'
import { nameOf } from './pause.ts'

/** The state of an outbox, with that of its destinations. */
export interface Status {
  readonly overview: Overview
  readonly destinations: DestinationOverview
  /** Deliveries of the last hour, the oldest minute first. */
  readonly minutes: readonly DeliveryMinute[]
}

/** The state for machines. */
export function statusJson({ overview, destinations, minutes }: Status): object {
  const { at, oldestDue, processes, ...same } = overview
  return {
    ...same,
    at: timeJson(at),
    oldestDue:
      oldestDue === undefined ? null : { ...oldestDue, availableAt: timeJson(oldestDue.availableAt) },
    processes: processes.map(nodeJson),
    routingVersion: destinations.routingVersion ?? null,
    destinations: destinations.destinations.map(({ lastSuccessAt, ...each }) => ({
      ...each,
      lastSuccessAt: timeJson(lastSuccessAt ?? null),
    })),
    deliveries: minutes.map(({ minute, ...counts }) => ({ minute: timeJson(minute), ...counts })),
  }
}

/** How a state is drawn. */
export interface StatusLook {
  readonly paint: Paint
  readonly width: number | undefined
}

/** The state for people. */
export function statusText(status: Status, look: StatusLook): string {
  const blocks = [
    ...headBlocks(status, look),
    destinationsText(status, look),
    ratesText(status, look),
    minutesText(status, look),
  ]
  return blocks.filter((block) => block !== '').join('\n\n')
}

/** What the outbox is, what it has, and what needs an operator. */
export function headBlocks({ overview }: Status, { paint, width }: StatusLook): readonly string[] {
  return [
    headText(overview, paint, width),
    countsText(overview, paint, width),
    problemsText(overview, paint, width),
  ]
}

/** The table of destinations. */
export function destinationsText({ overview, destinations }: Status, look: StatusLook): string {
  return tableText(shownDestinations(destinations), destinationColumns(overview), look)
}

/** The table of types with their rates: the busiest ones. Empty if nothing was delivered lately. */
export function ratesText({ overview: { rates } }: Status, look: StatusLook, count = 10): string {
  return rates.length === 0 || count <= 0 ? '' : tableText(rates.slice(0, count), rateColumns, look)
}

/** How many values a line of bars has: it leaves room for its name and its number. */
export function barCount(width = Infinity): number {
  return Math.max(10, Math.min(60, width - 28))
}

// With a routing, the empty destination has no events, unless a rule or none leads to it.
function shownDestinations({ destinations }: DestinationOverview): readonly DestinationState[] {
  const shown = destinations.filter(
    ({ destination, isRouted, pending, dead, perMinute }) =>
      (isRouted && destination !== '') ||
      pending.count > 0 ||
      dead.count > 0 ||
      perMinute.done > 0 ||
      perMinute.failed > 0,
  )
  return shown.length === 0 ? destinations : shown
}

/** Draws the deliveries of the last hour. Empty if there were none. */
export function minutesText({ minutes }: Status, { paint, width }: StatusLook): string {
  const shown = minutes.slice(-barCount(width))
  const done = shown.map((minute) => minute.done)
  const failed = shown.map((minute) => minute.failed + minute.dead)
  const line = (name: string, values: readonly number[]) =>
    `${paint('dim', name.padEnd(11))} ${sparkline(values)}  ${countText(values.at(-2) ?? 0)}/min`
  return [
    ...(done.some((count) => count > 0) ? [line('delivered', done)] : []),
    ...(failed.some((count) => count > 0) ? [line('failed', failed)] : []),
  ].join('\n')
}

function headText({ store, processes }: Overview, paint: Paint, width: number | undefined): string {
  const workers = processes.filter(({ mode }) => mode !== null)
  const modes = [...new Set(workers.map(({ mode }) => mode!))]
  const hosts = new Set(processes.flatMap(({ report }) => report?.host ?? []))
  const count = workers.length === 1 ? '1 worker' : `${workers.length} workers`
  const where = hosts.size === 0 ? '' : ` on ${hosts.size === 1 ? '1 host' : `${hosts.size} hosts`}`
  const writers = processes.length - workers.length
  const parts = [
    store.kind,
    ...modes,
    `${count}${where}`,
    ...(writers === 0 ? [] : [writers === 1 ? '1 writer' : `${writers} writers`]),
  ]
  return flowed([paint('bold', printable(store.name)), ...parts], ' · ', width)
}

function countsText({ counts, oldestDue }: Overview, paint: Paint, width: number | undefined): string {
  const { PENDING, RETRY, DONE, DEAD, BLOCKED } = counts
  const part = (name: string, text: string) => `${paint('dim', name)} ${text}`
  const parts = [
    part('pending', paint('bold', estimateText(PENDING))),
    ...(RETRY.count > 0 ? [part('of these to retry', paint('yellow', estimateText(RETRY)))] : []),
    part('oldest due', oldestDue === undefined ? 'none' : durationText(oldestDue.ageMs)),
    part('dead', DEAD.count > 0 ? paint('red', estimateText(DEAD)) : '0'),
    ...(BLOCKED.count > 0 ? [part('blocked', paint('yellow', estimateText(BLOCKED)))] : []),
    part('done', estimateText(DONE)),
  ]
  return flowed(parts, '   ', width)
}

function problemsText(overview: Overview, paint: Paint, width: number | undefined): string {
  const { paused, blockedKeys, parkedKeys, typesWithoutListener, processes, oldestDue } = overview
  const lines: string[] = []
  const add = (name: string, values: readonly string[]) => {
    if (values.length === 0) return
    const shown = values.slice(0, 8).map((value) => `${printable(value)},`)
    const last = values.length > 8 ? `and ${values.length - 8} more` : shown.pop()!.slice(0, -1)
    lines.push(flowed([paint('yellow', name), ...shown, last], ' ', width))
  }
  if (oldestDue !== undefined && !hasWorkers(processes)) {
    lines.push(paint('red', 'Events are due, and no process delivers.'))
  }
  add('paused:', paused.map(nameOf))
  add(
    'blocked keys:',
    blockedKeys.map(({ orderingKey, destination }) =>
      destination === '' ? orderingKey : `${orderingKey} (${destination})`,
    ),
  )
  add('parked keys:', parkedKeys)
  add('types without a listener:', typesWithoutListener)
  return lines.join('\n')
}

/** The columns of the destinations. */
function destinationColumns({ at: now, processes }: Overview): readonly Column<DestinationState>[] {
  const hasWorker = hasWorkers(processes)
  return [
    { title: 'destination', value: ({ destination }) => destination || '-' },
    {
      title: 'state',
      value: (row) => stateOf(row, hasWorker),
      style: (row) => (stateOf(row, hasWorker) === 'ok' ? 'green' : 'red'),
    },
    { title: 'pending', value: ({ pending }) => estimateText(pending), align: 'right' },
    { title: 'dead', value: ({ dead }) => estimateText(dead), align: 'right' },
    { title: 'done/min', value: ({ perMinute }) => rateText(perMinute.done), align: 'right' },
    {
      title: 'failed/min',
      value: ({ perMinute }) => rateText(perMinute.failed + perMinute.dead),
      align: 'right',
    },
    {
      title: 'last success',
      value: ({ lastSuccessAt }) =>
        lastSuccessAt === undefined ? '-' : lastSuccessText(now - lastSuccessAt),
      isMinor: true,
    },
    {
      title: 'errors',
      value: errorsText,
    },
  ]
}

function hasWorkers(processes: Overview['processes']): boolean {
  return processes.some(({ mode }) => mode !== null)
}

// Only the newest DEAD events are examined.
function errorsText({ errors, dead }: DestinationState): string {
  const examined = errors.reduce((sum, { count }) => sum + count, 0)
  const shown = errors.slice(0, 3).map((each) => `${each.errorClass || 'Error'} ${countText(each.count)}`)
  return `${examined < dead.count && examined > 0 ? 'newest: ' : ''}${shown.join(', ')}`
}

function stateOf({ isPaused, processes, pending }: DestinationState, hasWorker: boolean): string {
  if (isPaused) return 'paused'
  if (!hasWorker && pending.count > 0) return 'no worker'
  const breakers = new Set(processes.map(({ circuitBreaker }) => circuitBreaker))
  if (breakers.has('open')) return 'breaker open'
  return breakers.has('halfOpen') ? 'breaker half open' : 'ok'
}

// Successes are known by the minute.
function lastSuccessText(ms: number): string {
  return ms < 60_000 ? 'this minute' : `${durationText(Math.floor(ms / 60_000) * 60_000)} ago`
}

const rateColumns: readonly Column<Overview['rates'][number]>[] = [
  { title: 'type', value: ({ eventType }) => eventType },
  { title: 'destination', value: ({ destination }) => destination || '-', isOptional: true },
  { title: 'done/min', value: ({ donePerMinute }) => rateText(donePerMinute), align: 'right' },
  {
    title: 'failed/min',
    value: ({ failedPerMinute, deadPerMinute }) => rateText(failedPerMinute + deadPerMinute),
    align: 'right',
  },
  { title: 'listener p50', value: ({ listener }) => msText(listener.p50Ms), align: 'right', isMinor: true },
  { title: 'p99', value: ({ listener }) => msText(listener.p99Ms), align: 'right', isMinor: true },
  { title: 'delivery p50', value: ({ delivery }) => msText(delivery.p50Ms), align: 'right' },
  { title: 'p99', value: ({ delivery }) => msText(delivery.p99Ms), align: 'right' },
]

function rateText(perMinute: number): string {
  return perMinute > 0 && perMinute < 10 ? perMinute.toFixed(1) : countText(perMinute)
}

function msText(ms: number | undefined): string {
  return ms === undefined ? '-' : durationText(ms)
}
