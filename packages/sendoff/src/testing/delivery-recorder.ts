import type { EventEnvelope } from '../event/event-envelope.ts'
import type { EventInterceptor } from '../route/event-interceptor.ts'
import type { Outcome, OutboxStore, Settlement } from '../store/index.ts'

/** A finished delivery: the listener was called, and the outcome is in the store. */
export interface RecordedDelivery {
  /** The event as the listener got it. */
  readonly event: EventEnvelope
  readonly outcome: 'done' | 'retry' | 'defer' | 'block' | 'dead'
  /** The error of a failed delivery, as text that starts with the error's class; null if it did not fail. */
  readonly error: string | null
}

/**
 * Records deliveries. An interceptor sees what listeners get, and the store's settlements show how each
 * delivery ended.
 */
export class DeliveryRecorder {
  readonly deliveries: RecordedDelivery[] = []
  readonly interceptor: EventInterceptor
  readonly #running = new Map<string, EventEnvelope>()
  readonly #handled = new Map<string, EventEnvelope>()
  #change = Promise.withResolvers<void>()

  constructor() {
    this.interceptor = {
      beforeDispatch: (event) => void this.#running.set(event.eventId, event),
      afterDispatch: (event) => {
        this.#running.delete(event.eventId)
        this.#handled.set(event.eventId, event)
      },
    }
  }

  /** Ids of events that a listener is working on. */
  get running(): ReadonlySet<string> {
    return new Set(this.#running.keys())
  }

  /** Whether listeners have returned whose outcomes are not in the store yet. */
  get hasUnsettled(): boolean {
    return this.#handled.size > 0
  }

  /** Resolves when the next delivery is finished. */
  changed(): Promise<void> {
    return this.#change.promise
  }

  /** Returns the same store, with its settlements recorded here. */
  observed<StoreTx>(store: OutboxStore<StoreTx>): OutboxStore<StoreTx> {
    const settle: OutboxStore<StoreTx>['settle'] = async (request) => {
      const refused = new Set(await store.settle(request))
      this.#settled(request.settlements.filter((settlement) => !refused.has(settlement)))
      return [...refused]
    }
    return new Proxy(store, {
      get(target, name) {
        if (name === 'settle') return settle
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
  }

  #settled(settlements: readonly Settlement[]): void {
    for (const { row, outcome } of settlements) {
      const event = this.#handled.get(row.eventId) ?? this.#running.get(row.eventId)
      this.#handled.delete(row.eventId)
      this.#running.delete(row.eventId)
      if (event !== undefined) this.deliveries.push({ event, ...endOf(outcome) })
    }
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }
}

function endOf(outcome: Outcome): Pick<RecordedDelivery, 'outcome' | 'error'> {
  return {
    outcome: outcome.kind === 'delete' ? 'done' : outcome.kind,
    error: outcome.kind === 'defer' ? (outcome.reason ?? null) : (outcome.failure?.error ?? null),
  }
}
