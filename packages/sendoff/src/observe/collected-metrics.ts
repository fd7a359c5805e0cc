import type { CountedDelivery, DeliveryEnd } from './delivery-counts.ts'
import { defaultBuckets, Histogram } from './histogram.ts'
import { type HistogramName, metricCatalogue, type MetricName } from './metric-catalogue.ts'
import type { MetricsSource, ProcessState, TableState } from './metrics-source.ts'
import type { MetricsExporter } from './metrics.ts'

/** One value of a metric, with its labels besides the name of the outbox. */
export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | Histogram
}

/** The durations of one set of labels. */
interface Durations extends MetricSample {
  readonly value: Histogram
}

/** Options of `CollectedMetrics`. */
export interface CollectedMetricsOptions {
  /** How many event types have a label of their own. All others are `other`. */
  readonly maxTypes: number
  /** The upper bounds of the buckets of durations, in seconds, rising. */
  readonly buckets?: readonly number[] | undefined
}

/** Defaults of the ready-made exporters. */
export const collectedDefaults = { maxTypes: 100, name: 'default', prefix: 'outbox' }

/** How many destinations have a label of their own. */
const maxDestinations = 50

type Counts = { [Name in (typeof plainCounters)[number]]: number }

const plainCounters = metricCatalogue
  .filter(({ kind, name }) => kind === 'counter' && name !== 'deliveries')
  .map(({ name }) => name as Exclude<MetricName, 'deliveries'>)

/**
 * Adds up the numbers of one or more outboxes in memory, for exporters that are read now and then. A delivery
 * costs a look-up and a few additions.
 */
export class CollectedMetrics implements MetricsExporter {
  readonly #options: { readonly maxTypes: number; readonly buckets: readonly number[] }
  readonly #counts = Object.fromEntries(plainCounters.map((name) => [name, 0])) as Counts
  /** By type, then by destination. A key made of both would be a new text for each delivery. */
  readonly #kinds = new Map<string, Map<string, Kind>>()
  readonly #types = new Set<string>()
  readonly #destinations = new Set<string>()
  readonly #poll: Histogram
  readonly #settle: Histogram
  readonly #sources = new Set<MetricsSource>()

  constructor({ maxTypes, buckets = defaultBuckets }: CollectedMetricsOptions) {
    this.#options = { maxTypes, buckets }
    this.#poll = new Histogram(buckets)
    this.#settle = new Histogram(buckets)
  }

  incrementHotEnqueued(): void {
    this.#counts['enqueue.hot']++
  }
  incrementHotDropped(): void {
    this.addHotDropped(1)
  }
  incrementHotSkippedDelayed(): void {
    this.addHotSkippedDelayed(1)
  }
  incrementColdEnqueued(): void {
    this.addColdEnqueued(1)
  }
  incrementHotBroken(): void {
    this.addHotBroken(1)
  }
  incrementDispatchSuccess(): void {
    this.addDispatchSuccess(1)
  }
  incrementDispatchFailure(): void {
    this.addDispatchFailure(1)
  }
  incrementDispatchDead(): void {
    this.addDispatchDead(1)
  }
  incrementDispatchDeferred(): void {
    this.addDispatchDeferred(1)
  }
  incrementSettlementRefused(): void {
    this.#counts['settle.refused']++
  }
  // The sources of this object know these when they are asked.
  recordQueueDepths(): void {}
  recordOldestLagMs(): void {}
  recordListenerDurationMs(): void {}
  recordCircuitBreakerState(): void {}

  addHotDropped(count: number): void {
    this.#counts['enqueue.hot.dropped'] += count
  }
  addHotSkippedDelayed(count: number): void {
    this.#counts['enqueue.hot.skipped.delayed'] += count
  }
  addColdEnqueued(count: number): void {
    this.#counts['enqueue.cold'] += count
  }
  addHotBroken(count: number): void {
    this.#counts['enqueue.hot.broken'] += count
  }
  addDispatchSuccess(count: number): void {
    this.#counts['dispatch.success'] += count
  }
  addDispatchFailure(count: number): void {
    this.#counts['dispatch.failure'] += count
  }
  addDispatchDead(count: number): void {
    this.#counts['dispatch.dead'] += count
  }
  addDispatchDeferred(count: number): void {
    this.#counts['dispatch.deferred'] += count
  }
  addDispatchFiltered(count: number): void {
    this.#counts['dispatch.filtered'] += count
  }
  addWritten(count: number): void {
    this.#counts['write.events'] += count
  }
  addLeasesLost(count: number): void {
    this.#counts['leases.lost'] += count
  }
  addPurged(rows: number, idempotencyKeys: number): void {
    this.#counts['purge.rows'] += rows
    this.#counts['purge.keys'] += idempotencyKeys
  }
  recordPoll(rows: number, durationMs: number): void {
    this.#counts['poll.rows'] += rows
    this.#poll.add(durationMs)
  }
  recordSettle(rows: number, durationMs: number): void {
    this.#counts['settle.rows'] += rows
    this.#settle.add(durationMs)
  }
  recordDelivery({ eventType, destination, end, listenerMs, deliveryMs }: CountedDelivery): void {
    const kind = this.kindOf(eventType, destination)
    kind[end]++
    if (listenerMs !== undefined) kind.listener.add(listenerMs)
    if (deliveryMs !== undefined) kind.delivery.add(deliveryMs)
  }

  observe(source: MetricsSource): () => void {
    this.#sources.add(source)
    return () => void this.#sources.delete(source)
  }

  /** Returns the counts of an event type and destination, under labels that are bounded. */
  kindOf(eventType: string, destination: string): Kind {
    return (
      this.#kinds.get(eventType)?.get(destination) ??
      this.#boundedKind(
        bounded(eventType, this.#types, this.#options.maxTypes),
        destination === '' ? '' : bounded(destination, this.#destinations, maxDestinations),
      )
    )
  }

  /** Returns all values of a metric. Asks the table of each source at most once in 5 s. */
  async samples(name: MetricName): Promise<readonly MetricSample[]> {
    if (name in this.#counts) return [{ labels: {}, value: this.#counts[name as keyof Counts] }]
    switch (name) {
      case 'deliveries':
        return this.#allKinds().flatMap((kind) =>
          ends.map((outcome) => ({ labels: { ...kind.labels, outcome }, value: kind[outcome] })),
        )
      case 'delivery.duration':
      case 'listener.duration':
      case 'poll.duration':
      case 'settle.duration':
        return this.durations(name)
      default:
        return name in ofTable ? this.#ofTable(name as keyof typeof ofTable) : this.#ofProcesses(name)
    }
  }

  /** Returns the durations of a histogram. They continue to rise. */
  durations(name: HistogramName): readonly Durations[] {
    switch (name) {
      case 'delivery.duration':
        return this.#allKinds().map(({ labels, delivery }) => ({ labels, value: delivery }))
      case 'listener.duration':
        return this.#allKinds().map(({ labels, listener }) => ({ labels, value: listener }))
      case 'poll.duration':
        return [{ labels: {}, value: this.#poll }]
      case 'settle.duration':
        return [{ labels: {}, value: this.#settle }]
    }
  }

  #boundedKind(type: string, destination: string): Kind {
    let ofType = this.#kinds.get(type)
    if (ofType === undefined) this.#kinds.set(type, (ofType = new Map()))
    let kind = ofType.get(destination)
    if (kind === undefined)
      ofType.set(destination, (kind = new Kind(type, destination, this.#options.buckets)))
    return kind
  }

  #allKinds(): readonly Kind[] {
    return [...this.#kinds.values()].flatMap((ofType) => [...ofType.values()])
  }

  // Outboxes of one name are on one table, so that any of them knows its state.
  async #ofTable(name: keyof typeof ofTable): Promise<readonly MetricSample[]> {
    for (const source of this.#sources) {
      const state = await source.table()
      if (state !== undefined) return ofTable[name](state)
    }
    return []
  }

  #ofProcesses(name: MetricName): readonly MetricSample[] {
    const states = [...this.#sources].map((source) => source.process())
    return states.length === 0 ? [] : (ofProcess[name]?.(states) ?? [])
  }
}

/** The counts of one event type and destination since the start. */
export class Kind {
  readonly labels: { readonly type: string; readonly destination: string }
  done = 0
  failed = 0
  dead = 0
  deferred = 0
  filtered = 0
  readonly listener: Histogram
  readonly delivery: Histogram

  constructor(type: string, destination: string, buckets: readonly number[]) {
    this.labels = { type, destination }
    this.listener = new Histogram(buckets)
    this.delivery = new Histogram(buckets)
  }
}

const ends: readonly DeliveryEnd[] = ['done', 'failed', 'dead', 'deferred', 'filtered']

function bounded(label: string, known: Set<string>, most: number): string {
  if (known.has(label)) return label
  if (known.size >= most) return 'other'
  known.add(label)
  return label
}

const ofTable = {
  'lag.oldest.ms': ({ lagMs }: TableState) => one(lagMs),
  rows: ({ rows }: TableState) =>
    Object.entries(rows).map(([status, value]) => ({ labels: { status }, value })),
  'keys.blocked': ({ blocked }: TableState) => one(blocked),
  'keys.parked': ({ parked }: TableState) => one(parked),
  'dead.oldest.ms': ({ oldestDeadMs }: TableState) => one(oldestDeadMs ?? 0),
} satisfies Partial<Record<MetricName, (state: TableState) => readonly MetricSample[]>>

const ofProcess: Partial<Record<MetricName, (states: readonly ProcessState[]) => readonly MetricSample[]>> = {
  'queue.hot.depth': (states) => one(sum(states, ({ queues }) => queues.hot)),
  'queue.cold.depth': (states) => one(sum(states, ({ queues }) => queues.cold)),
  'rows.held': (states) => [
    { labels: { right: 'lease' }, value: sum(states, ({ held }) => held.leased) },
    { labels: { right: 'lock' }, value: sum(states, ({ held }) => held.locked) },
  ],
  'partitions.owned': (states) => one(sum(states, ({ partitions }) => partitions)),
  'poll.age.ms': (states) => {
    const ages = states.flatMap(({ sincePollMs }) => sincePollMs ?? [])
    return ages.length === 0 ? [] : one(Math.max(...ages))
  },
  'store.outage': (states) => one(states.some(({ isOutage }) => isOutage) ? 1 : 0),
  'breaker.open': (states) =>
    states.flatMap(({ breakers }) =>
      Object.entries(breakers).map(([destination, state]) => ({
        labels: { destination },
        value: state === 'open' ? 1 : state === 'halfOpen' ? 0.5 : 0,
      })),
    ),
}

function one(value: number): readonly MetricSample[] {
  return [{ labels: {}, value }]
}

function sum(states: readonly ProcessState[], of: (state: ProcessState) => number): number {
  return states.reduce((total, state) => total + of(state), 0)
}
