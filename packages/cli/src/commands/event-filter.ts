import type { EventFilter, EventState } from 'sendoff/admin'
import { usageError } from '../command-error.ts'
import type { FilterOptions } from './command-options.ts'

const states: readonly EventState[] = ['NEW', 'RETRY', 'DONE', 'DEAD', 'PENDING', 'BLOCKED']

/** Returns the filter that the options of a call ask for. */
export function filterOf(options: FilterOptions, now = Date.now()): EventFilter {
  const { status, id, type, destination, key, tenant, aggregate, since, until, error, text } = options
  const [aggregateType, aggregateId] = aggregate === undefined ? [] : aggregateOf(aggregate)
  const filter = {
    status: status === undefined ? undefined : statesOf(status),
    eventId: id,
    eventType: type,
    destination,
    orderingKey: key,
    tenantId: tenant,
    aggregateType,
    aggregateId,
    since: since === undefined ? undefined : readTime('--since', since, now),
    until: until === undefined ? undefined : readTime('--until', until, now),
    errorClass: error,
    text,
  }
  if (filter.since !== undefined && filter.until !== undefined && filter.since >= filter.until) {
    throw usageError('--since is not before --until, so that no event can match. Swap them.')
  }
  return filter
}

/** Reads a time: `90s`, `15m`, `2h` or `3d` ago, `14:30` today, or a date such as `2026-03-01T14:30`. */
export function readTime(option: string, text: string, now: number): number {
  const ago = /^(\d+(?:\.\d+)?)\s*(s|m|min|h|d)$/.exec(text)
  if (ago !== null) return now - Number(ago[1]) * unitMs[ago[2]!]!

  const clock = /^(\d{1,2}):(\d{2})$/.exec(text)
  if (clock !== null && Number(clock[1]) < 24 && Number(clock[2]) < 60) {
    const time = new Date(now)
    time.setHours(Number(clock[1]), Number(clock[2]), 0, 0)
    // At one o'clock, 23:00 was yesterday.
    if (time.getTime() > now) time.setDate(time.getDate() - 1)
    return time.getTime()
  }
  const date = /^\d{4}-\d{2}-\d{2}/.test(text)
    ? new Date(text.length === 10 ? `${text}T00:00` : text).getTime()
    : NaN
  if (!Number.isNaN(date)) return date
  throw usageError(
    `${option} "${text}" is no time. Use 15m, 2h or 3d for a time ago, 14:30, or 2026-03-01T14:30.`,
  )
}

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

function statesOf(text: string): readonly EventState[] {
  const wanted = text.split(',').map((each) => each.trim().toUpperCase()) as EventState[]
  const unknown = wanted.find((each) => !states.includes(each))
  if (unknown === undefined) return wanted
  throw usageError(
    `--status "${unknown}" is no state. Use one or several of ${states.join(', ')}, with commas.`,
  )
}

function aggregateOf(text: string): readonly [type: string, id: string | undefined] {
  const slash = text.indexOf('/')
  return slash === -1 ? [text, undefined] : [text.slice(0, slash), text.slice(slash + 1)]
}
