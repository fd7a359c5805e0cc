import type { Clock } from '../clock.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Logger } from '../observe/logger.ts'
import type { MetricsExporter } from '../observe/metrics.ts'
import type { ProcessingChain } from '../process/processing-chain.ts'
import type { Outcome } from '../store/index.ts'
import { FailureReports } from './failure-reports.ts'
import type { LaneTurns } from './lane-turns.ts'

/** How many event types without a listener the log names at most. */
const maxUnroutableTypes = 100

/** Options of `DeliveryReports`. */
export interface DeliveryReportsOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: MetricsExporter
  readonly chain: ProcessingChain
  readonly lanes: LaneTurns | undefined
}

/** Reports to metrics and the log how deliveries ended. */
export class DeliveryReports {
  readonly #options: DeliveryReportsOptions
  readonly #metrics: MetricsExporter
  readonly #failures: FailureReports
  readonly #unroutableTypes = new Set<string>()

  constructor(options: DeliveryReportsOptions) {
    this.#options = options
    this.#metrics = options.metrics
    this.#failures = new FailureReports(options.clock, options.logger)
  }

  settled(delivery: Delivery, outcome: Outcome): void {
    if ('failure' in outcome) {
      this.#failures.report(delivery, outcome, this.#options.chain.maxAttemptsOf(delivery))
    }
    switch (outcome.kind) {
      case 'retry':
      case 'block':
        return this.#metrics.incrementDispatchFailure()
      case 'defer':
        return this.#metrics.incrementDispatchDeferred()
      case 'dead':
        return this.#metrics.incrementDispatchDead()
      default:
        return this.#metrics.incrementDispatchSuccess()
    }
  }

  refused({ row }: Delivery): void {
    this.#metrics.incrementSettlementRefused()
    this.#failures.tell(
      'warn',
      'settlements were refused',
      `The settlement of event ${row.eventId} came too late and was refused: another process holds it and delivers it again.`,
    )
  }

  /** Logs, once for each event type, that its events wait for a listener. */
  unroutable({ row }: Delivery): void {
    const { aggregateType, eventType, eventId } = row
    const type = `"${eventType}" of aggregate type "${aggregateType}"`
    if (this.#unroutableTypes.has(type) || this.#unroutableTypes.size >= maxUnroutableTypes) return
    this.#unroutableTypes.add(type)
    const holdsUp = this.#options.lanes?.waitsAfterFailure === true
    this.#options.logger.warn(
      `Event ${eventId} waits, like all events of type ${type}: this process has no listener for it` +
        `${holdsUp ? ', and events written behind it in the same order wait as well' : ''}. ` +
        'Register one, or stop this process where another has one.',
    )
  }

  /** Logs the failures that were only counted so far. */
  flush(): void {
    this.#failures.flush()
  }
}
