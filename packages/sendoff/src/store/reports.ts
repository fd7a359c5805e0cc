/**
 * Reports of processes, and statistics by the minute. Operators' tools read them. No delivery depends on
 * them, and no settlement waits for them.
 */
export interface OutboxReports {
  /**
   * Stores what a process reports about itself, and its statistics. The report replaces the last one of the
   * process, and is gone when the process leaves. Statistics replace those of the same minute, process, type
   * and destination, so that a call can be repeated. A process that is not registered stores no report.
   */
  report(request: ReportRequest): Promise<ReportAnswer>

  /**
   * Returns every living process by id, with its last report. Changes nothing, and needs only the right to
   * read. A process that never reported, as one of an older version, comes without a report.
   */
  living(): Promise<readonly LivingProcess[]>

  /** Returns statistics of the last minutes, newest minute first. Needs only the right to read. */
  statistics(filter: StatisticsFilter): Promise<readonly MinuteStatistics[]>

  /** Deletes the oldest statistics, one batch. Returns how many rows it deleted. */
  forgetStatistics(request: ForgetStatisticsRequest): Promise<number>
}

/** What a process reports about itself. */
export interface ProcessReport {
  /** The version of the package. */
  readonly version: string
  readonly host: string
  readonly pid: number
  /** When the process started its outbox, by its own clock. */
  readonly startedAt: number
  /** The event types with a listener; null if a default listener takes every type. */
  readonly types: readonly string[] | null
  /** How many deliveries wait in the hot and in the cold queue. */
  readonly queues: { readonly hot: number; readonly cold: number }
  /** How many rows the process holds by leases of their own, and how many under a lock. */
  readonly held: { readonly leased: number; readonly locked: number }
  /** How many partitions the process owns. */
  readonly partitions: number
  /** The share of the deliveries of the last minute that came straight from a commit; null without any. */
  readonly hotShare: number | null
  /** Durations of listeners in the last minute, as the text of `LatencyBuckets`. */
  readonly listenerBuckets: string
  /** The destinations that this process delivers to; undefined without routing. */
  readonly destinations?: readonly DestinationReport[] | undefined
  /** The version of the routing that this process writes by; undefined without one. */
  readonly routingVersion?: number | undefined
}

/** What a process reports about one destination. */
export interface DestinationReport {
  readonly destination: string
  /** Whether the process has a listener for it. */
  readonly hasListener: boolean
  /** The state of its circuit breaker; null without one. */
  readonly circuitBreaker: 'closed' | 'open' | 'halfOpen' | null
  /** How many deliveries wait in the hot and in the cold queue. */
  readonly queues: { readonly hot: number; readonly cold: number }
  /** Its limits in this process; undefined if its release does not report them. */
  readonly limits?: DestinationLimits
}

/** The limits of a destination in a process, where a listener has none of its own. */
export interface DestinationLimits {
  /** How many calls of its listeners run at once. */
  readonly concurrency: number
  /** How many milliseconds a listener may take. */
  readonly timeoutMs: number
  /** How many attempts its retry policy allows; null if it sets no limit. */
  readonly maxAttempts: number | null
}

/** A report of a process, with its statistics. */
export interface ReportRequest {
  /** The id that the process joined with. */
  readonly id: string
  readonly report: ProcessReport
  readonly statistics: readonly Omit<MinuteStatistics, 'node'>[]
}

/** The answer to a report. */
export interface ReportAnswer {
  /** Whether the process is registered, and its report stored. */
  readonly isLiving: boolean
  /** The time of the store. Minutes are those of its clock. */
  readonly now: number
}

/** A process that is registered now. */
export interface LivingProcess {
  readonly id: string
  /** Null if the process only writes. */
  readonly mode: string | null
  /** When the process joined; null if the store does not know. */
  readonly startedAt: number | null
  /** How many milliseconds it stays registered without another heartbeat. */
  readonly ttlMs: number
  /** Its last report; null if there is none, or if it cannot be read. */
  readonly report: ProcessReport | null
  /** When the last report came, by the clock of the store. */
  readonly reportedAt: number | null
}

/**
 * The end of the destination under which deliveries are counted that a rule filtered. No name of a
 * destination has this character.
 */
export const filteredEnding = '/filtered'

/** The deliveries of one process within a minute, of one event type and to one destination. */
export interface MinuteStatistics {
  /** The beginning of the minute. */
  readonly minute: number
  /** The id of the process. */
  readonly node: string
  readonly eventType: string
  readonly destination: string
  readonly done: number
  /** Attempts that failed and are repeated, or wait for an operator. */
  readonly failed: number
  readonly dead: number
  readonly deferred: number
  /** How many of all came straight from a commit. */
  readonly hot: number
  /** The sum of the durations of listeners. */
  readonly listenerMs: number
  /** Durations of listeners, as the text of `LatencyBuckets`. */
  readonly listenerBuckets: string
  /** Times from the write, or from the due time of a later one, to the end of the delivery. */
  readonly deliveryBuckets: string
}

/** Which statistics to read. */
export interface StatisticsFilter {
  /** Reads the minutes that began at most this many milliseconds ago. */
  readonly lastMs: number
  readonly limit: number
}

/** Which statistics to delete. */
export interface ForgetStatisticsRequest {
  readonly olderThanMs: number
  readonly limit: number
}
