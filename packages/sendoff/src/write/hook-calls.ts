import type { Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxStore } from '../store/index.ts'
import { eventExists } from './event-exists.ts'
import type { WriterHook } from './writer-hook.ts'
import type { OnKnown, WrittenBatch } from './written-batch.ts'

/** Options of `HookCalls`. */
export interface HookCallsOptions {
  readonly hook: WriterHook
  readonly store: Pick<OutboxStore<never>, 'people'>
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Calls a writer hook after writes, and after the end of their transactions. Errors of the hook are only
 * logged.
 */
export class HookCalls {
  readonly #options: HookCallsOptions

  constructor(options: HookCallsOptions) {
    this.#options = options
  }

  call(moment: 'afterWrite' | 'afterCommit' | 'afterRollback', events: readonly EventEnvelope[]): void {
    const { hook, logger } = this.#options
    const report = (error: unknown) =>
      logger.error(`The writer hook failed in ${moment}: ${describeError(error)}`)
    try {
      const answer = hook[moment]?.(events)
      if (answer instanceof Promise) answer.catch(report)
    } catch (error) {
      report(error)
    }
  }

  /**
   * Returns a callback that tells the hook how a transaction ended, once that is known. If the hot path has
   * not found the events, the callback asks the store for one of them. That is enough, because the events of
   * a batch are kept or lost together. If the store does not answer, the hook gets what the caller was told.
   */
  onKnown(batch: WrittenBatch, inDoubt: boolean, wasToldOfCommit: boolean): OnKnown | undefined {
    const { hook } = this.#options
    if (hook.afterCommit === undefined && hook.afterRollback === undefined) return undefined

    return (isKept, hasAsked) => {
      const events = batch.kept()
      const [first] = events
      if (first === undefined) return
      if (isKept) return this.call('afterCommit', events)

      void eventExists(this.#options, first.eventId, inDoubt && !hasAsked).then((exists = wasToldOfCommit) =>
        this.call(exists ? 'afterCommit' : 'afterRollback', events),
      )
    }
  }
}
