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
  last: Line
}

/** A line of the log and its fields. It is made only if it is written. */
type Line = () => readonly [text: string, fields: LogFields]

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
    const attempt = row.attempts + (failure.counted ? 1 : 0)
    const event = () => failedEvent(row, attempt, reason)
    const tell = (level: Level, what: string, happened: () => string) =>
      this.tell(level, what, () => [
        `Event ${row.eventId} (${row.eventType}) ${happened()}: ${reason}`,
        { ...fieldsOf(row), attempt, reason },
      ])
    const failed = () => `failed at attempt ${attempt}${maxAttempts === Infinity ? '' : ` of ${maxAttempts}`}`
    const type = `"${row.eventType}"`
    switch (outcome.kind) {
      case 'retry':
        this.#events?.tell('failed', () => ({ ...event(), maxAttempts, nextInMs: outcome.delayMs }))
        return tell(
          'warn',
          `attempts at ${type} failed`,
          () => `${failed()}, next in ${durationText(outcome.delayMs)}`,
        )
      case 'dead':
        this.#events?.tell('dead', event)
        return tell('error', `events of ${type} became DEAD`, () => 'is DEAD')
      case 'block':
        this.#events?.tell('blocked', event)
        return tell(
          'error',
          `events of ${type} blocked their keys`,
          () => `failed for good and blocks "${row.orderingKey ?? 'all'}" until an operator decides`,
        )
      default:
        return tell(
          'warn',
          `attempts at ${type} failed, and their fallback succeeded`,
          () => `${failed()}, and its fallback succeeded`,
        )
    }
  }

  /** Logs `line`, or counts it with others of its kind. */
  tell(level: Level, what: string, line: Line): void {
    const group = this.#groupOf(level, what)
    if (group.lines < linesPerWindow) {
      group.lines++
      this.#logger[level](...line())
    } else {
      group.untold++
      group.last = line
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
    const group: Group = { level, what, lines: 0, untold: 0, last: noLine }
    this.#groups.set(what, group)
    this.#schedule()
    return group
  }

  // A kind that keeps failing gets one line in each further window.
  #summarise(group: Group): void {
    const { level, what, untold, last } = group
    const [line, fields] = last()
    this.#logger[level](`${untold} more ${what} within ${windowMs / 1_000} s. The last: ${line}`, {
      ...fields,
      count: untold,
    })
    group.lines = linesPerWindow
    group.untold = 0
    group.last = noLine
  }

  #schedule(): void {
    this.#cancel ??= this.#clock.schedule(windowMs, () => this.flush())
  }
}

const noLine: Line = () => ['', {}]

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
