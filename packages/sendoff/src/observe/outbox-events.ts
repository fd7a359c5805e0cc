import type { Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import { isThenable, watch } from './guarded.ts'
import type { RepeatedLines } from './repeated-lines.ts'

/** What a program can subscribe to. */
export interface OutboxEventMap {
  /** An attempt failed, and another one follows. */
  readonly failed: FailedEvent & { readonly maxAttempts: number; readonly nextInMs: number }
  /** An event became DEAD. */
  readonly dead: FailedEvent
  /** An event blocks its ordering key until an operator decides. */
  readonly blocked: FailedEvent
  /** Calls of the store began to fail, or a circuit breaker opened. */
  readonly outage: OutageStart
  /** The store answers again, or the circuit breaker closed. */
  readonly recovered: OutageEnd
}

/** An event whose delivery failed. Its payload is not part of it. */
export interface FailedEvent {
  readonly eventId: string
  readonly eventType: string
  readonly destination: string
  readonly aggregateType: string
  readonly aggregateId: string | null
  readonly tenantId: string | null
  readonly orderingKey: string | null
  /** How many attempts counted, this one included. */
  readonly attempt: number
  /** The text of the error. */
  readonly reason: string
}

/** The beginning of an outage. */
export interface OutageStart {
  readonly of: 'store' | 'destination'
  /** The destination whose circuit breaker opened: empty without a routing. Null for the store. */
  readonly destination: string | null
  /** The text of the error. */
  readonly reason: string
}

/** The end of an outage. */
export interface OutageEnd {
  readonly of: 'store' | 'destination'
  /** The destination whose circuit breaker closed: empty without a routing. Null for the store. */
  readonly destination: string | null
  readonly lastedMs: number
}

type Name = keyof OutboxEventMap
type Subscriber = (report: never) => unknown

const names: readonly Name[] = ['failed', 'dead', 'blocked', 'outage', 'recovered']

/**
 * Tells subscribers what an operator would see. It calls them in a later turn of the event loop. A subscriber
 * that throws, rejects or hangs changes nothing for deliveries.
 */
export class OutboxEvents {
  readonly #clock: Clock
  readonly #lines: RepeatedLines
  readonly #subscribers = new Map<Name, Set<Subscriber>>()

  constructor(clock: Clock, lines: RepeatedLines) {
    this.#clock = clock
    this.#lines = lines
  }

  /** Calls `subscriber` at each such event. Returns a function that ends the subscription. */
  on<Which extends Name>(name: Which, subscriber: (report: OutboxEventMap[Which]) => unknown): () => void {
    if (!names.includes(name) || typeof subscriber !== 'function') {
      throw new OutboxError(
        'OUTBOX_INVALID_OPTION',
        `events.on() takes one of ${names.join(', ')}, and a function.`,
      )
    }
    const subscribers = this.#subscribers.get(name) ?? new Set()
    this.#subscribers.set(name, subscribers)
    // The same function may subscribe twice.
    const own: Subscriber = (report) => subscriber(report)
    subscribers.add(own)
    return () => {
      subscribers.delete(own)
    }
  }

  /** Tells the subscribers. `report` is called only if there is one. Never throws. */
  tell<Which extends Name>(name: Which, report: () => OutboxEventMap[Which]): void {
    const subscribers = this.#subscribers.get(name)
    if (subscribers === undefined || subscribers.size === 0) return
    const told = report()
    this.#clock.defer(() => {
      for (const subscriber of [...subscribers]) this.#call(name, subscriber, told)
    })
  }

  #call(name: Name, subscriber: Subscriber, report: unknown): void {
    const onError = (error: unknown): void =>
      this.#lines.tell('error', `failures of subscribers to "${name}"`, () => [
        `A subscriber to "${name}" failed. ${describeError(error)}`,
        {},
      ])
    try {
      const result = subscriber(report as never)
      if (isThenable(result)) watch(result, onError)
    } catch (error) {
      onError(error)
    }
  }
}
