import { describeError } from '../describe-error.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Logger } from '../observe/logger.ts'
import type { EventInterceptor } from '../route/event-interceptor.ts'

/** The interceptors of an outbox, called around every delivery. */
export class Interceptors {
  readonly #interceptors: readonly EventInterceptor[]
  readonly #reversed: readonly EventInterceptor[]
  readonly #logger: Logger

  constructor(interceptors: readonly EventInterceptor[], logger: Logger) {
    this.#interceptors = interceptors
    this.#reversed = interceptors.toReversed()
    this.#logger = logger
  }

  get none(): boolean {
    return this.#interceptors.length === 0
  }

  async before(event: EventEnvelope): Promise<void> {
    for (const interceptor of this.#interceptors) await interceptor.beforeDispatch?.(event)
  }

  /** Calls `afterDispatch` of all interceptors. Never rejects. */
  async after(event: EventEnvelope, error: unknown): Promise<void> {
    for (const interceptor of this.#reversed) {
      try {
        await interceptor.afterDispatch?.(event, error)
      } catch (failure) {
        this.#logger.error(`An interceptor failed after event ${event.eventId}. ${describeError(failure)}`)
      }
    }
  }
}
