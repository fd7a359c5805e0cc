import { OutboxError } from '../errors.ts'
import { earliestMs, latestMs } from '../event/event-fields.ts'
import { anything, checkOptions, type OptionCheck, text, textOrEmpty } from '../options.ts'
import { EventStatus } from '../store/event-status.ts'
import type { LookFilter } from '../store/index.ts'

/** The state of an event in words. PENDING is NEW or RETRY; BLOCKED is pending, and waits for an operator. */
export type EventState = 'NEW' | 'DONE' | 'RETRY' | 'DEAD' | 'PENDING' | 'BLOCKED'

/** Which events to find. All parts have to match, byte by byte. */
export interface EventFilter {
  /** One state, or any of several. */
  readonly status?: EventState | readonly EventState[] | undefined
  readonly eventId?: string | undefined
  readonly eventType?: string | undefined
  /** `''` finds events without a destination of their own. */
  readonly destination?: string | undefined
  readonly aggregateType?: string | undefined
  readonly aggregateId?: string | undefined
  readonly tenantId?: string | undefined
  readonly orderingKey?: string | undefined
  /** Events written at this time or later. */
  readonly since?: Date | number | undefined
  /** Events written before this time. */
  readonly until?: Date | number | undefined
  /** The class of the last error, such as `TypeError`. */
  readonly errorClass?: string | undefined
  /** A text in the payload or in the last error. */
  readonly text?: string | undefined
}

const codes: Readonly<Record<Exclude<EventState, 'BLOCKED'>, readonly EventStatus[]>> = {
  NEW: [EventStatus.NEW],
  DONE: [EventStatus.DONE],
  RETRY: [EventStatus.RETRY],
  DEAD: [EventStatus.DEAD],
  PENDING: [EventStatus.NEW, EventStatus.RETRY],
}

const isTime: OptionCheck = (value) => {
  const time = value instanceof Date ? value.getTime() : value
  return typeof time === 'number' && time >= earliestMs && time <= latestMs
    ? undefined
    : 'a Date or epoch milliseconds of the years 1000 to 9999'
}

const checks: Readonly<Record<keyof EventFilter, OptionCheck>> = {
  status: anything,
  eventId: text,
  eventType: text,
  destination: textOrEmpty,
  aggregateType: text,
  aggregateId: text,
  tenantId: text,
  orderingKey: text,
  since: isTime,
  until: isTime,
  errorClass: text,
  text,
}

/** Checks a filter, and returns it as stores take it. */
export function lookFilter(what: string, filter: EventFilter): LookFilter {
  checkOptions(`the filter of ${what}`, filter, checks)
  const { status, since, until, ...same } = filter
  const known = Object.entries(same).filter(([, value]) => value !== undefined)
  return {
    ...(Object.fromEntries(known) as LookFilter),
    ...(status !== undefined && statusFilter(what, [status].flat())),
    ...(since !== undefined && { since: Math.floor(Number(since)) }),
    ...(until !== undefined && { until: Math.floor(Number(until)) }),
  }
}

function statusFilter(what: string, states: readonly EventState[]): Pick<LookFilter, 'status' | 'isBlocked'> {
  const isKnown = (state: unknown) => state === 'BLOCKED' || Object.hasOwn(codes, state as string)
  if (states.length === 0 || !states.every(isKnown)) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `Option "status" of the filter of ${what} must be one or several of ${[...Object.keys(codes), 'BLOCKED'].join(', ')}.`,
    )
  }
  if (states.includes('BLOCKED')) {
    if (states.length === 1) return { isBlocked: true }
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'BLOCKED cannot be combined with other states. Look for blocked events by themselves.',
    )
  }
  const status = new Set(states.flatMap((state) => codes[state as keyof typeof codes]))
  return { status: [...status].sort() }
}
