import type { EventEnvelope } from '../event/event-envelope.ts'
import type { DispatchContext, EventListener, ListenerFunction } from '../route/event-listener.ts'
import { describeEvent } from './describe-event.ts'
import { defaultTimeLimitMs, withinTimeLimit } from './time-limit.ts'

/**
 * A listener that records every call, lets a test wait for calls, and then reacts as the test says: with
 * success by default.
 */
export class RecordingListener<Payload = unknown> implements EventListener<Payload> {
  /** One entry for every call: an event that was delivered twice appears twice. */
  readonly events: EventEnvelope<Payload>[] = []
  readonly #react: ListenerFunction<Payload>
  #waiters: { readonly count: number; readonly resolve: () => void }[] = []

  constructor(react: ListenerFunction<Payload> = () => {}) {
    this.#react = react
  }

  get ids(): string[] {
    return this.events.map((event) => event.eventId)
  }

  get payloads(): Payload[] {
    return this.events.map((event) => event.payload)
  }

  /** Resolves after `count` calls; rejects if there are fewer after `timeLimitMs`, 4 s by default. */
  called(count: number, timeLimitMs: number = defaultTimeLimitMs): Promise<void> {
    if (this.events.length >= count) return Promise.resolve()

    const reached = new Promise<void>((resolve) => this.#waiters.push({ count, resolve }))
    return withinTimeLimit(
      reached,
      timeLimitMs,
      () => `Expected ${count} calls of the listener within ${timeLimitMs} ms, but ${this.#describeCalls()}`,
    )
  }

  onEvent(event: EventEnvelope<Payload>, context: DispatchContext): ReturnType<ListenerFunction> {
    this.events.push(event)
    const due = this.#waiters.filter(({ count }) => count <= this.events.length)
    this.#waiters = this.#waiters.filter((waiter) => !due.includes(waiter))
    due.forEach(({ resolve }) => resolve())
    return this.#react(event, context)
  }

  #describeCalls(): string {
    if (this.events.length === 0) return 'it was not called.'
    return `there were ${this.events.length}:${this.events.map((event) => `\n  ${describeEvent(event)}`).join('')}`
  }
}
