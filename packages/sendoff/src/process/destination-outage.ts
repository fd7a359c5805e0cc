import type { Clock } from '../clock.ts'
import type { CircuitBreakerState } from '../observe/metrics.ts'
import type { OutboxEvents } from '../observe/outbox-events.ts'

/**
 * Tells subscribers of the outage of a destination, as its circuit breaker sees it: from the opening until
 * the breaker has closed. Returns what the breaker has to call with each of its states.
 */
export function destinationOutage(
  { clock, events }: { readonly clock: Clock; readonly events: OutboxEvents },
  destination: string,
): (state: CircuitBreakerState) => void {
  const of = 'destination'
  const reason =
    destination === '' ? 'Most deliveries fail.' : `Most deliveries to destination "${destination}" fail.`
  let openedAt: number | undefined
  return (state) => {
    if (state === 'open' && openedAt === undefined) {
      openedAt = clock.monotonic()
      events.tell('outage', () => ({ of, destination, reason }))
    } else if (state === 'closed' && openedAt !== undefined) {
      const lastedMs = clock.monotonic() - openedAt
      openedAt = undefined
      events.tell('recovered', () => ({ of, destination, lastedMs }))
    }
  }
}
