import type { Clock } from '../clock.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { DeliveryCounts, DeliveryEnd } from '../observe/delivery-counts.ts'
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
  readonly counts?: DeliveryCounts
  readonly chain: ProcessingChain
  readonly lanes: LaneTurns | undefined
}

/** Reports to metrics and the log how deliveries ended. */
export class DeliveryReports {
  readonly #options: DeliveryReportsOptions
  readonly #metrics: MetricsExporter
  readonly #counts: DeliveryCounts | undefined
  readonly #failures: FailureReports
  readonly #unroutableTypes = new Set<string>()

  constructor(options: DeliveryReportsOptions) {
    this.#options = options
    this.#metrics = options.metrics
    this.#counts = options.counts
    this.#failures = new FailureReports(options.clock, options.logger)
  }

  settled(delivery: Delivery, outcome: Outcome): void {
    if ('failure' in outcome) {
      this.#failures.report(delivery, outcome, this.#options.chain.maxAttemptsOf(delivery))
    }
    if (this.#counts !== undefined) this.#count(this.#counts, delivery, outcome)
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

  #count(counts: DeliveryCounts, { row, source, listenerMs }: Delivery, { kind }: Outcome): void {
    const end = endOf[kind]
    // A row that was never tried may have been written for later. A retry changes its due time.
    const since = row.attempts === 0 ? Math.max(row.createdAt, row.availableAt) : row.createdAt
    counts.add({
      eventType: row.eventType,
      destination: row.destination,
      end,
      isHot: source === 'hot',
      listenerMs,
      deliveryMs:
        end === 'done' ? Math.max(0, this.#options.clock.now() + counts.storeAheadMs - since) : undefined,
    })
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

const endOf: Readonly<Record<Outcome['kind'], DeliveryEnd>> = {
  done: 'done',
  delete: 'done',
  retry: 'failed',
  block: 'failed',
  defer: 'deferred',
  dead: 'dead',
}
