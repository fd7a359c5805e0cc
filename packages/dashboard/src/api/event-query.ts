import type { BrowseOptions, EventFilter } from 'sendoff/admin'
import { Refusal } from '../guard/refusal.ts'

const texts = [
  'eventId',
  'eventType',
  'destination',
  'aggregateType',
  'aggregateId',
  'tenantId',
  'orderingKey',
  'errorClass',
  'text',
] as const
const times = ['since', 'until'] as const
const others = ['status', 'order', 'limit', 'cursor'] as const

/** What a name, a text to search for, or a reason has to be. */
export const shortText = 'a text of at most 2,000 characters, without U+0000'

/** Whether this can be a name or a short text. PostgreSQL refuses U+0000 in every text. */
export function isShortText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 2_000 && !value.includes('\0')
}

/** The names of everything that a list of events can be asked for. */
export const eventQueryNames: readonly string[] = [...texts, ...times, ...others]

/** Reads a filter from an object of texts, as a query or the body of a plan has it. */
export function readFilter(given: Readonly<Record<string, unknown>>): EventFilter {
  const filter: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue
    if (name === 'status') filter['status'] = Array.isArray(value) ? value : textOf(name, value).split(',')
    else if (isOneOf(times, name)) filter[name] = timeOf(name, value)
    else if (isOneOf(texts, name)) filter[name] = textOf(name, value)
    else throw new Refusal(400, 'UNKNOWN_PARAMETER', `There is no filter "${name.slice(0, 100)}".`)
  }
  return filter
}

/** Reads filter and options of a list of events from a query. */
export function readEventQuery(query: URLSearchParams): {
  readonly filter: EventFilter
  readonly options: BrowseOptions
} {
  const { order, limit, cursor, ...filter } = Object.fromEntries(query)
  return {
    filter: readFilter(filter),
    options: {
      ...(order !== undefined && { order: order as 'newest' }),
      ...(limit !== undefined && { limit: Number(limit) }),
      ...(cursor !== undefined && { cursor }),
    },
  }
}

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name)
}

function textOf(name: string, value: unknown): string {
  if (isShortText(value)) return value
  throw new Refusal(400, 'INVALID_PARAMETER', `"${name}" has to be ${shortText}.`)
}

/** Reads epoch milliseconds, or a time such as `2026-01-31T12:00Z`. */
function timeOf(name: string, value: unknown): number {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^\d{1,15}$/.test(value))
  const time = isNumber ? Number(value) : Date.parse(textOf(name, value))
  if (Number.isFinite(time)) return time
  throw new Refusal(
    400,
    'INVALID_PARAMETER',
    `"${name}" has to be epoch milliseconds, or a time such as 2026-01-31T12:00Z.`,
  )
}
