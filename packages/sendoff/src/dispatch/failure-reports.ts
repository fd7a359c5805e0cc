import type { Clock } from '../clock.ts'
import { durationText } from '../duration-text.ts'
import type { LogFields, Logger } from '../observe/logger.ts'
import type { FailedEvent, OutboxEvents } from '../observe/outbox-events.ts'
import { type Level, type Line, RepeatedLines } from '../observe/repeated-lines.ts'
import type { Failure, Outcome, Row } from '../store/index.ts'
import type { Delivery } from '../delivery/delivery.ts'

const others = 'failures of other event types'

type FailedOutcome = Extract<Outcome, { readonly failure?: Failure }>

/**
 * Logs failed attempts and dead events, and tells subscribers. The outage of a destination does not flood the
 * log.
 */
export class FailureReports {
  readonly #lines: RepeatedLines
  readonly #events: OutboxEvents | undefined

  constructor(clock: Clock, logger: Logger, events?: OutboxEvents) {
    this.#lines = new RepeatedLines(clock, logger, others)
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
    this.#lines.tell(level, what, line)
  }

  /** Logs the failures that were only counted so far. */
  flush(): void {
    this.#lines.flush()
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
