/** A metric of the ready-made exporters. */
export interface MetricDefinition {
  /** Its name for OpenTelemetry, without the prefix. A gauge whose name ends in `.ms` is in milliseconds. */
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** Its labels besides the name of the outbox. */
  readonly labels?: readonly string[]
}

/** Every metric of the ready-made exporters. */
export const metricCatalogue = [
  counter('enqueue.hot', 'Events that went from their commit straight into the hot queue.'),
  counter('enqueue.hot.dropped', 'Events left to the poller because the hot queue had no room.'),
  counter('enqueue.hot.skipped.delayed', 'Events left to the poller because they are due later.'),
  counter('enqueue.hot.broken', 'Events left to the poller because the circuit breaker is open.'),
  counter('enqueue.cold', 'Events that a poller read and queued.'),
  counter('dispatch.success', 'Deliveries that ended with an event DONE, filtered ones among them.'),
  counter('dispatch.failure', 'Attempts that failed and will be repeated, or wait for an operator.'),
  counter('dispatch.dead', 'Events that became DEAD.'),
  counter('dispatch.deferred', 'Deliveries that were put off without counting an attempt.'),
  counter(
    'dispatch.filtered',
    'Deliveries that ended without their listener, because no rule of the routing said yes. They also count as success.',
  ),
  gauge('queue.hot.depth', 'Deliveries that wait in the hot queue of this process.'),
  gauge('queue.cold.depth', 'Deliveries that wait in the cold queue of this process.'),
  gauge(
    'lag.oldest.ms',
    "How long the oldest due event has been due, by the database's clock. The same on every process.",
  ),
  counter('write.events', 'Events of transactions that this process has seen commit.'),
  counter('deliveries', 'Deliveries by how they ended: done, failed, dead, deferred or filtered.', [
    'type',
    'destination',
    'outcome',
  ]),
  histogram(
    'delivery.duration',
    'From the write, or from the due time of a delayed event, until it is DONE.',
    ['type', 'destination'],
  ),
  histogram('listener.duration', 'How long listeners took. An event of a batch counts for its share.', [
    'type',
    'destination',
  ]),
  histogram('poll.duration', 'How long the store took to return due rows. Its count is the number of polls.'),
  counter('poll.rows', 'Rows that polls returned.'),
  histogram(
    'settle.duration',
    'How long the store took to write a batch of outcomes. Its count is the number of batches.',
  ),
  counter('settle.rows', 'Outcomes that the store has written or refused.'),
  counter('settle.refused', 'Outcomes that the store refused, because another process held the row by then.'),
  counter('leases.lost', 'Rows that this process lost before it had settled them.'),
  counter('purge.rows', 'Rows that the purge of this process deleted.'),
  counter('purge.keys', 'Idempotency keys that the purge of this process deleted.'),
  gauge('rows', 'Rows of the table by status: an estimate above 10,000. The same on every process.', [
    'status',
  ]),
  gauge('keys.blocked', 'Ordering keys that wait for an operator. The same on every process.'),
  gauge('keys.parked', 'Ordering keys that are parked, up to 100. The same on every process.'),
  gauge(
    'dead.oldest.ms',
    'How long ago the oldest DEAD event became DEAD; 0 without one. The same on every process.',
  ),
  gauge('rows.held', 'Rows that this process holds, by a lease of their own or under a lock.', ['right']),
  gauge('partitions.owned', 'Partitions that this process owns.'),
  gauge('poll.age.ms', 'How long ago the last poll of this process succeeded.'),
  gauge('store.outage', '1 while all calls of the store fail, otherwise 0.'),
  gauge('breaker.open', '1 while the circuit breaker is open, 0.5 while it is half-open, otherwise 0.', [
    'destination',
  ]),
] as const satisfies readonly MetricDefinition[]

/** The name of a metric without prefix, as OpenTelemetry has it. */
export type MetricName = (typeof metricCatalogue)[number]['name']

/** The name of a histogram. */
export type HistogramName = (typeof histogramDefinitions)[number]['name']

/** The histograms among the metrics. */
export const histogramDefinitions = metricCatalogue.filter((each) => each.kind === 'histogram')

/** Returns the name of a metric for OpenTelemetry: `outbox.lag.oldest.ms`. */
export function openTelemetryName({ name }: MetricDefinition, prefix: string): string {
  return `${prefix}.${name}`
}

/**
 * Returns the name of a metric for Prometheus: underscores instead of dots, seconds instead of milliseconds,
 * and `_total` behind a counter.
 */
export function prometheusName({ name, kind }: MetricDefinition, prefix: string): string {
  const plain = `${prefix}_${name.replace(/\.ms$/, '.seconds').replaceAll('.', '_')}`
  if (kind === 'counter') return `${plain}_total`
  return kind === 'histogram' ? `${plain}_seconds` : plain
}

/** Returns a value in the unit of its name for Prometheus. */
export function prometheusValue({ name }: MetricDefinition, value: number): number {
  return name.endsWith('.ms') ? value / 1_000 : value
}

type Named<Name extends string, Kind> = MetricDefinition & { readonly name: Name; readonly kind: Kind }

function counter<Name extends string>(
  name: Name,
  help: string,
  labels: readonly string[] = [],
): Named<Name, 'counter'> {
  return { name, kind: 'counter', help, labels }
}

function gauge<Name extends string>(
  name: Name,
  help: string,
  labels: readonly string[] = [],
): Named<Name, 'gauge'> {
  return { name, kind: 'gauge', help, labels }
}

function histogram<Name extends string>(
  name: Name,
  help: string,
  labels: readonly string[] = [],
): Named<Name, 'histogram'> {
  return { name, kind: 'histogram', help, labels }
}
