/** The unit of each metric in a table, its decimals, and whether less is better. */
export const metrics = {
  eventsPerSecond: { unit: 'events/s', decimals: 0 },
  cpuUsPerEvent: { unit: 'µs of CPU per event', decimals: 2, isCost: true },
  serverCpuUsPerEvent: { unit: "µs of the server's CPU per event", decimals: 2, isCost: true },
  transactionsPerSecond: { unit: 'transactions/s', decimals: 0 },
  cpuUsPerTransaction: { unit: 'µs of CPU per transaction', decimals: 1, isCost: true },
  serverCpuUsPerTransaction: {
    unit: "µs of the server's CPU per transaction",
    decimals: 1,
    isCost: true,
  },
  concurrentTransactionsPerSecond: { unit: 'transactions/s, 16 connections', decimals: 0 },
  bulkEventsPerSecond: { unit: 'events/s, 1000 in a transaction', decimals: 0 },
  latencyP50Ms: { unit: 'ms, p50', decimals: 3, isCost: true },
  latencyP99Ms: { unit: 'ms, p99', decimals: 3, isCost: true },
  acrossProcessesP50Ms: { unit: 'ms, p50, from another process', decimals: 3, isCost: true },
  acrossProcessesP99Ms: { unit: 'ms, p99, from another process', decimals: 3, isCost: true },
  writeP50Ms: { unit: 'ms for a write, p50', decimals: 3, isCost: true },
  writeP95Ms: { unit: 'ms for a write, p95', decimals: 3, isCost: true },
  outageWriteP50Ms: { unit: 'ms for a write in the outage, p50', decimals: 3, isCost: true },
  outageWriteP95Ms: { unit: 'ms for a write in the outage, p95', decimals: 3, isCost: true },
  outageP50Ratio: { unit: 'times what it takes otherwise, p50', decimals: 2, isCost: true },
  outageP95Ratio: { unit: 'times what it takes otherwise, p95', decimals: 2, isCost: true },
  outageCpuRatio: { unit: 'times the CPU that it takes otherwise', decimals: 2, isCost: true },
  outageSendsPerSecond: { unit: 'sends/s in the outage', decimals: 1, isCost: true },
  openBreakers: { unit: 'breakers open at its end', decimals: 0 },
  p95Ms: { unit: 'ms, p95', decimals: 1, isCost: true },
  cpuMsPerSecond: { unit: 'ms of CPU per second', decimals: 2, isCost: true },
  statementsPerSecond: { unit: 'statements/s', decimals: 2, isCost: true },
  idleTransactionsPerSecond: { unit: 'transactions/s caused', decimals: 2, isCost: true },
  arrivalP50Ms: { unit: 'ms from arrival to listener, p50', decimals: 2, isCost: true },
  arrivalP99Ms: { unit: 'ms from arrival to listener, p99', decimals: 2, isCost: true },
  arrivalP999Ms: { unit: 'ms from arrival to listener, p99.9', decimals: 2, isCost: true },
  worstSecondP99Ms: { unit: 'ms, p99 of the worst second', decimals: 2, isCost: true },
  p99Trend: { unit: 'times the p99 of the second tenth, in the last', decimals: 2, isCost: true },
  workerCpuUsPerEvent: { unit: "µs of the workers' CPU per event", decimals: 1, isCost: true },
  writerCpuUsPerEvent: { unit: "µs of the writer's CPU per event", decimals: 1, isCost: true },
  walBytesPerEvent: { unit: 'bytes of log per event', decimals: 0, isCost: true },
  serverTransactionsPerEvent: { unit: 'transactions per event', decimals: 2, isCost: true },
  statementsPerEvent: { unit: 'statements per event', decimals: 2, isCost: true },
  deadRows: { unit: 'dead rows at the end', decimals: 0, isCost: true },
  tableMegabytes: { unit: 'MB of table at the end', decimals: 0, isCost: true },
  indexMegabytes: { unit: 'MB of indexes at the end', decimals: 0, isCost: true },
  workerMegabytes: { unit: 'MB of the workers at the end', decimals: 0, isCost: true },
  workerMegabytesGrown: { unit: 'MB that the workers have grown', decimals: 0, isCost: true },
  writerMegabytes: { unit: 'MB of the writer at the end', decimals: 0, isCost: true },
} as const satisfies Record<string, Metric>

interface Metric {
  readonly unit: string
  readonly decimals: number
  readonly isCost?: true
}

export type MetricName = keyof typeof metrics

/** Values by the name of their metric. */
export type Measurement = Readonly<Partial<Record<MetricName, number>>>
