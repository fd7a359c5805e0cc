import type { Cancel, Clock } from '../clock.ts'
import { durationText } from '../duration-text.ts'
import type { LogFields, Logger } from '../observe/logger.ts'
import type { FailedEvent, OutboxEvents } from '../observe/outbox-events.ts'
import type { Failure, Outcome, Row } from '../store/index.ts'
import type { Delivery } from '../delivery/delivery.ts'

/**
 * Within this many milliseconds, each event type gets a few lines of its own. One more line counts the rest.
 */
const windowMs = 10_000
const linesPerWindow = 5
/** How many kinds of failures are counted separately. */
const mostGroups = 20
const others = 'failures of other event types'

type Level = 'warn' | 'error'

type FailedOutcome = Extract<Outcome, { readonly failure?: Failure }>

interface Group {
  readonly level: Level
  /** The kind of failure, as in `attempts at "OrderPlaced" failed`. */
  readonly what: string
  lines: number
  untold: number
  last: string
  lastFields: LogFields
}

/**
 * Logs failed attempts and dead events: the first few of each kind in a line each, the rest in one line that
 * counts them. So the log covers every failure, and an outage of a destination does not flood it.
 */
export class FailureReports {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #events: OutboxEvents | undefined
  readonly #groups = new Map<string, Group>()
  #cancel: Cancel | undefined

  constructor(clock: Clock, logger: Logger, events?: OutboxEvents) {
    this.#clock = clock
    this.#logger = logger
    this.#events = events
  }

  /** Logs how a failed delivery ended, and tells subscribers. */
  report({ row }: Delivery, outcome: FailedOutcome, maxAttempts: number): void {
    const { failure } = outcome
    if (failure === undefined) return
    const reason = failure.error
    const name = `Event ${row.eventId} (${row.eventType})`
    const attempt = row.attempts + (failure.counted ? 1 : 0)
    const failed = `${name} failed at attempt ${attempt}${maxAttempts === Infinity ? '' : ` of ${maxAttempts}`}`
    const type = `"${row.eventType}"`
    const fields = { ...fieldsOf(row), attempt, reason }
    const event = () => failedEvent(row, attempt, reason)
    switch (outcome.kind) {
      case 'retry':
        this.#events?.tell('failed', () => ({ ...event(), maxAttempts, nextInMs: outcome.delayMs }))
        return this.tell(
          'warn',
          `attempts at ${type} failed`,
          `${failed}, next in ${durationText(outcome.delayMs)}: ${reason}`,
          fields,
        )
      case 'dead':
        this.#events?.tell('dead', event)
        return this.tell('error', `events of ${type} became DEAD`, `${name} is DEAD: ${reason}`, fields)
      case 'block':
        this.#events?.tell('blocked', event)
        return this.tell(
          'error',
          `events of ${type} blocked their keys`,
          `${name} failed for good and blocks "${row.orderingKey ?? 'all'}" until an operator decides: ${reason}`,
          fields,
        )
      default:
        return this.tell(
          'warn',
          `attempts at ${type} failed, and their fallback succeeded`,
          `${failed}, and its fallback succeeded: ${reason}`,
          fields,
        )
    }
  }

  /** Logs `line`, or counts it with others of its kind. */
  tell(level: Level, what: string, line: string, fields: LogFields = {}): void {
    const group = this.#groupOf(level, what)
    if (group.lines < linesPerWindow) {
      group.lines++
      this.#logger[level](line, fields)
    } else {
      group.untold++
      group.last = line
      group.lastFields = fields
    }
  }

  /** Logs the failures that were only counted so far. */
  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    for (const [what, group] of this.#groups) {
      if (group.untold === 0) this.#groups.delete(what)
      else this.#summarise(group)
    }
    if (this.#groups.size > 0) this.#schedule()
  }

  #groupOf(level: Level, what: string): Group {
    const known = this.#groups.get(what)
    if (known !== undefined) return known
    if (this.#groups.size >= mostGroups && what !== others) return this.#groupOf(level, others)
    const group = { level, what, lines: 0, untold: 0, last: '', lastFields: {} }
    this.#groups.set(what, group)
    this.#schedule()
    return group
  }

  // A kind that keeps failing gets one line in each further window.
  #summarise(group: Group): void {
    const { level, what, untold, last, lastFields } = group
    this.#logger[level](`${untold} more ${what} within ${windowMs / 1_000} s. The last: ${last}`, {
      ...lastFields,
      count: untold,
    })
    group.lines = linesPerWindow
    group.untold = 0
  }

  #schedule(): void {
    this.#cancel ??= this.#clock.schedule(windowMs, () => this.flush())
  }
}

/** Names an event in the fields of a log line. */
export function fieldsOf({ eventId, eventType, destination, tenantId }: Row): LogFields {
  return { eventId, eventType, destination, ...(tenantId !== null && { tenantId }) }
}

function failedEvent(row: Row, attempt: number, reason: string): FailedEvent {
  const { eventId, eventType, destination, aggregateType, aggregateId, tenantId, orderingKey } = row
  return {
    eventId,
    eventType,
    destination,
    aggregateType,
    aggregateId,
    tenantId,
    orderingKey,
    attempt,
    reason,
  }
}
