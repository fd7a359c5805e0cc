import type { Clock } from '../clock.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { DeliveryCounts, DeliveryInStatistics } from '../observe/delivery-counts.ts'
import type { Logger } from '../observe/logger.ts'
import type { EngineMetrics } from '../observe/metrics.ts'
import type { OutboxEvents } from '../observe/outbox-events.ts'
import type { ProcessingChain } from '../process/processing-chain.ts'
import { filteredEnding, type Outcome } from '../store/index.ts'
import { FailureReports, fieldsOf } from './failure-reports.ts'
import type { LaneTurns } from './lane-turns.ts'

/** How many event types without a listener the log names at most. */
const maxUnroutableTypes = 100

/** Options of `DeliveryReports`. */
export interface DeliveryReportsOptions {
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: EngineMetrics
  readonly counts?: DeliveryCounts
  readonly events?: OutboxEvents
  readonly chain: ProcessingChain
  readonly lanes: LaneTurns | undefined
}

/** Reports to metrics and the log how deliveries ended. */
export class DeliveryReports {
  readonly #options: DeliveryReportsOptions
  readonly #metrics: EngineMetrics
  readonly #counts: DeliveryCounts | undefined
  readonly #failures: FailureReports
  readonly #unroutableTypes = new Set<string>()
  /** When this batch of settlements was counted; undefined before its first one. */
  #countedAt: number | undefined
  readonly #ended = { done: 0, failed: 0, dead: 0, deferred: 0, filtered: 0 }

  constructor(options: DeliveryReportsOptions) {
    this.#options = options
    this.#metrics = options.metrics
    this.#counts = options.counts
    this.#failures = new FailureReports(options.clock, options.logger, options.events)
  }

  settled(delivery: Delivery, outcome: Outcome): void {
    if ('failure' in outcome) {
      this.#failures.report(delivery, outcome, this.#options.chain.maxAttemptsOf(delivery))
    }
    const end = endOf[outcome.kind]
    if (this.#counts !== undefined || !this.#metrics.isOff) this.#count(delivery, end, outcome)
    this.#ended[end]++
  }

  /** Passes on the counts of a batch of settlements. */
  batchEnded(): void {
    const { done, failed, dead, deferred, filtered } = this.#ended
    if (done > 0) this.#metrics.addDispatchSuccess(done)
    if (failed > 0) this.#metrics.addDispatchFailure(failed)
    if (dead > 0) this.#metrics.addDispatchDead(dead)
    if (deferred > 0) this.#metrics.addDispatchDeferred(deferred)
    if (filtered > 0) this.#metrics.addDispatchFiltered(filtered)
    this.#countedAt = undefined
    Object.assign(this.#ended, { done: 0, failed: 0, dead: 0, deferred: 0, filtered: 0 })
  }

  #count({ row, source, listenerMs }: Delivery, end: SettledEnd, outcome: Outcome): void {
    const { eventType, destination } = row
    this.#countedAt ??= this.#options.clock.now()
    // A row that was never tried may have been written for later. A retry changes its due time.
    const since = row.attempts === 0 ? Math.max(row.createdAt, row.availableAt) : row.createdAt
    const counted = {
      eventType,
      destination,
      end,
      isHot: source === 'hot',
      listenerMs,
      deliveryMs:
        end === 'done' ? Math.max(0, this.#countedAt + (this.#counts?.storeAheadMs ?? 0) - since) : undefined,
    }
    if ('filtered' in outcome) return this.#countFiltered(counted)
    this.#counts?.add(counted)
    if (!this.#metrics.isOff) this.#metrics.recordDelivery(counted)
  }

  #countFiltered(counted: DeliveryInStatistics): void {
    this.#ended.filtered++
    this.#counts?.add({ ...counted, destination: `${counted.destination}${filteredEnding}` })
    // No listener ran, and nothing was delivered.
    this.#metrics.recordDelivery({
      ...counted,
      end: 'filtered',
      listenerMs: undefined,
      deliveryMs: undefined,
    })
  }

  refused({ row }: Delivery): void {
    this.#metrics.incrementSettlementRefused()
    this.#failures.tell('warn', 'settlements were refused', () => [
      `The settlement of event ${row.eventId} came too late and was refused: another process holds it and delivers it again.`,
      fieldsOf(row),
    ])
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
      fieldsOf(row),
    )
  }

  /** Logs the failures that were only counted so far. */
  flush(): void {
    this.#failures.flush()
  }
}

type SettledEnd = DeliveryInStatistics['end']

const endOf: Readonly<Record<Outcome['kind'], SettledEnd>> = {
  done: 'done',
  delete: 'done',
  retry: 'failed',
  block: 'failed',
  defer: 'deferred',
  dead: 'dead',
}
