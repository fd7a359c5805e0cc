import { type Clock, delay, systemClock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { EventStatus } from '../store/event-status.ts'
import { type Logger, standardLogger } from '../observe/logger.ts'
import { SafeProgress } from '../observe/safe-progress.ts'
import { anything, callable, checkOptions, count, duration, flag, text, textOrEmpty } from '../options.ts'
import {
  type FailedAttempt,
  type NewAuditEntry,
  type OutboxActions,
  type OutboxPeople,
  requireParts,
  type RowFilter,
  type RowId,
  type StoredRow,
  type StoreParts,
} from '../store/index.ts'
import { checkNames, nameChecks } from '../store/names.ts'

/** Selects DEAD events. */
export type DeadEventFilter = Pick<
  RowFilter,
  'aggregateId' | 'aggregateType' | 'destination' | 'eventId' | 'eventType' | 'tenantId'
>

/** Options of `replayAll`. */
export interface ReplayOptions {
  /** How many events one statement makes NEW. Default: 500. */
  readonly batchSize?: number
  /** How many events to replay per second at most. Default: no limit. */
  readonly ratePerSecond?: number
  /**
   * Called after each batch with the number of events replayed so far. Its faults are logged, and the replay
   * goes on.
   */
  readonly onProgress?: (replayed: number) => unknown
  /** Aborting it stops the replay after the batch under way. */
  readonly signal?: AbortSignal
}

/** Options of `DeadEventManager`. */
export interface DeadEventManagerOptions {
  /** The store of the events. */
  readonly store: Pick<StoreParts, 'people' | 'actions'>
  /** The actor of replays in the audit. Default: none. */
  readonly actor?: string
  /** Gets the faults that are not thrown. By default, they go to standard error. */
  readonly logger?: Logger
  /** Called after events were replayed. */
  readonly onReplayed?: () => void
  /** Measures the rate of a replay. Default: the clock of the machine. */
  readonly clock?: Clock
  /**
   * Whether faults are logged instead of thrown. A call that failed then returns as if there were no events.
   */
  readonly lenient?: boolean
}

const filterChecks = {
  aggregateId: text,
  aggregateType: text,
  destination: textOrEmpty,
  eventId: text,
  eventType: text,
  tenantId: text,
}

/** Defaults of `replayAll`. */
export const replayDefaults = { batchSize: 500 }

/** Finds DEAD events, and replays them. */
export class DeadEventManager {
  readonly #options: DeadEventManagerOptions
  readonly #progress: SafeProgress

  constructor(options: DeadEventManagerOptions) {
    checkOptions('DeadEventManager', options, {
      store: anything,
      actor: nameChecks.actor,
      logger: anything,
      onReplayed: callable,
      clock: anything,
      lenient: flag,
    })
    this.#options = options
    this.#progress = new SafeProgress(options.clock ?? systemClock, options.logger ?? standardLogger)
  }

  /** Returns DEAD events in write order, after `afterSeq`. */
  query(
    filter: DeadEventFilter & { readonly limit?: number; readonly afterSeq?: number } = {},
  ): Promise<readonly StoredRow[]> {
    checkOptions('query', filter, { ...filterChecks, limit: count, afterSeq: anything })
    return this.#orIfLenient('query', [], () =>
      this.#people.query({ limit: 100, ...filter, status: [EventStatus.DEAD] }),
    )
  }

  count(filter: DeadEventFilter = {}): Promise<number> {
    checkOptions('count', filter, filterChecks)
    return this.#orIfLenient('count', 0, () => this.#people.count({ ...filter, status: [EventStatus.DEAD] }))
  }

  /** Returns the failed attempts of an event, oldest first. */
  async attempts(eventId: string, destination = ''): Promise<readonly FailedAttempt[]> {
    checkNames('deadEvents.attempts', { eventId, destination })
    return this.#orIfLenient('attempts', [], () => this.#people.attempts({ eventId, destination }))
  }

  /**
   * Makes one DEAD event NEW again: its row for one destination, or without one all its DEAD rows. Returns
   * false if there is none.
   */
  async replay(eventId: string, destination?: string): Promise<boolean> {
    checkNames('deadEvents.replay', { eventId, destination: destination ?? '' })
    return this.#orIfLenient('replay', false, async () => {
      const rows = destination === undefined ? await this.#deadRows(eventId) : [{ eventId, destination }]
      if (rows.length === 0) return false
      const audit = this.#entry({ eventId, ...(destination !== undefined && { destination }) })
      const answer = await this.#actions.run({ action: 'replay', rows, audit })
      const isReplayed = answer.kind === 'ran' && answer.rows.length > 0
      if (isReplayed) this.#options.onReplayed?.()
      return isReplayed
    })
  }

  /** Makes every matching DEAD event NEW again, each at most once. Returns how many there were. */
  replayAll(filter: DeadEventFilter = {}, options: ReplayOptions = {}): Promise<number> {
    checkOptions('replayAll', filter, filterChecks)
    checkOptions('replayAll', options, {
      batchSize: count,
      ratePerSecond: duration,
      onProgress: callable,
      signal: anything,
    })
    const progress = { replayed: 0 }
    return this.#orIfLenient(
      'replayAll',
      () => progress.replayed,
      () => this.#replayAll(filter, options, progress),
    )
  }

  async #deadRows(eventId: string): Promise<readonly RowId[]> {
    const rows = await this.#people.query({ eventId, status: [EventStatus.DEAD], limit: 1_000 })
    return rows.map(({ destination }) => ({ eventId, destination }))
  }

  get #people(): OutboxPeople {
    return requireParts(this.#options.store, ['people'], 'DeadEventManager').people
  }

  get #actions(): OutboxActions<never> {
    return requireParts(this.#options.store, ['actions'], 'A replay').actions
  }

  #entry(detail: object): NewAuditEntry {
    return { actor: this.#options.actor ?? null, action: 'replay', detail: JSON.stringify(detail) }
  }

  // An event that dies again meanwhile is behind the place reached, so it is not replayed forever.
  async #replayAll(
    filter: DeadEventFilter,
    options: ReplayOptions,
    progress: { replayed: number },
  ): Promise<number> {
    const people = this.#people
    const actions = this.#actions
    const { onReplayed, clock = systemClock } = this.#options
    const { ratePerSecond, signal } = options
    const onProgress = this.#progress.of('replayAll', options)
    const limit = Math.min(
      options.batchSize ?? replayDefaults.batchSize,
      Math.max(1, Math.floor(ratePerSecond ?? Infinity)),
    )
    const startedAt = clock.monotonic()
    let afterSeq = 0
    let id: string | undefined

    while (!signal?.aborted) {
      const rows = await people.query({ ...filter, status: [EventStatus.DEAD], afterSeq, limit })
      if (rows.length === 0) break

      id ??= await actions.record({ entry: this.#entry(filter), rows: [] })
      const step = { id, expects: null, progress: null, state: null }
      const answer = await actions.run({ action: 'replay', rows, audit: step })
      if (answer.kind === 'ran') progress.replayed += answer.rows.length
      onReplayed?.()
      onProgress(progress.replayed)
      afterSeq = rows.at(-1)!.seq
      if (rows.length < limit) break
      if (ratePerSecond !== undefined) {
        const dueMs = (progress.replayed / ratePerSecond) * 1_000 - (clock.monotonic() - startedAt)
        await delay(clock, Math.max(0, dueMs), signal)
      }
    }
    return progress.replayed
  }

  async #orIfLenient<Result>(
    what: string,
    instead: Result | (() => Result),
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (this.#options.lenient !== true) return work()
    try {
      return await work()
    } catch (error) {
      const { logger = standardLogger } = this.#options
      logger.error(`DeadEventManager.${what} failed. ${describeError(error)}`)
      return typeof instead === 'function' ? (instead as () => Result)() : instead
    }
  }
}
