import type { ProcessState, TableState } from './metrics-source.ts'

/** The health of one outbox in one process. */
export interface OutboxHealth {
  /** False only if the process has to be restarted. A database that is away does not end it. */
  readonly isLive: boolean
  /** Whether the outbox does its work: it is started, its database answers, and it keeps its thresholds. */
  readonly isReady: boolean
  /** What is wrong, in words; empty if the outbox is ready. */
  readonly problems: readonly string[]
  /** What this process holds and does. */
  readonly process: ProcessState
  /** The state of the table, at most 5 s old; undefined if the store does not say, or does not answer. */
  readonly table: TableState | undefined
}

/** Thresholds of health. */
export interface HealthThresholds {
  /** The outbox is not ready if no poll has succeeded for this many milliseconds. Default: 60 s. */
  readonly maxPollAgeMs?: number
  /** The outbox is not ready if an event has been due for this many milliseconds. Default: no limit. */
  readonly maxLagMs?: number
  /** The outbox is not ready if an event has been DEAD for this many milliseconds. Default: no limit. */
  readonly maxDeadMs?: number
}

/** Defaults of the thresholds of health. */
export const healthDefaults = { maxPollAgeMs: 60_000 }

/**
 * Returns a handler for probes. Paths that end in `live` or `livez` get whether the process is live, all
 * others whether the outbox is ready: status 200 or 503, with what is wrong as JSON.
 */
export function healthHandler(outbox: {
  health(): Promise<OutboxHealth>
}): (request: Request) => Promise<Response> {
  return async (request) => {
    const { isLive, isReady, problems, process, table } = await outbox.health()
    const isFine = /\/livez?$/.test(new URL(request.url).pathname) ? isLive : isReady
    return Response.json(
      { isLive, isReady, problems, process, table },
      { status: isFine ? 200 : 503, headers: { 'cache-control': 'no-store' } },
    )
  }
}
