import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import { type Logger, loggerFrom } from '../observe/logger.ts'
import { SafeProgress } from '../observe/safe-progress.ts'
import { anything, checkOptions, having, loggerOrFalse, requireOptions } from '../options.ts'
import type { Finding, OutboxStore, PartitionShares, PauseTarget, RowAction } from '../store/index.ts'
import { checkNames, nameChecks, pauseTargetOf } from '../store/names.ts'
import { AdminStore } from './admin-store.ts'
import { AuditLog } from './audit-log.ts'
import { browse, type BrowseOptions, type EventPage } from './browse.ts'
import { copyEvents, type CopyOptions } from './copied-events.ts'
import {
  type DeliveriesOptions,
  type DeliveryMinute,
  minutesAskedFor,
  readDeliveries,
} from './delivery-minutes.ts'
import { type DestinationOverview, readDestinations } from './destination-overview.ts'
import { type DoctorOptions, doctorRequest, examineOutbox } from './doctor.ts'
import { type EventDetail, readEvent } from './event-detail.ts'
import { type EventFilter, lookFilter } from './event-filter.ts'
import { type FailureReport, readFailures } from './failure-report.ts'
import { KeyAdmin } from './key-admin.ts'
import { type Overview, readOverview } from './overview.ts'
import { checkPlan, makePlan, type Plan, type PlanOptions } from './plan.ts'
import {
  checkRunOptions,
  type PlanResult,
  resumePlan,
  type RunOptions,
  type RunParts,
  runPlan,
} from './plan-run.ts'
import {
  type AnyDefinedEvent,
  replaceEvent,
  type Replacement,
  type ReplacementOptions,
} from './replacement.ts'

/** Options of `outboxAdmin`. */
export interface OutboxAdminOptions<Tx> {
  /** The store of the outbox. A user that may only read is enough to look. */
  readonly store: OutboxStore<Tx>
  /** Who acts, for the audit. `admin.as()` sets it, too. Default: none, which allows looking only. */
  readonly actor?: string
  /** Event types whose payloads `replayEdited` checks. Default: none. */
  readonly events?: readonly AnyDefinedEvent[]
  /** Gets the faults of progress callbacks. By default, they go to standard error; `false` drops them. */
  readonly logger?: Logger | false
  /** The clock for budgets and paces. Default: the clock of the machine. */
  readonly clock?: Clock
}

/** Makes an admin. It never migrates, never joins as a process, and never delivers. */
export function outboxAdmin<Tx>(options: OutboxAdminOptions<Tx>): OutboxAdmin<Tx> {
  checkOptions('outboxAdmin', options, {
    store: having('checkSchema', 'transaction', 'insert'),
    actor: nameChecks.actor,
    events: anything,
    logger: loggerOrFalse,
    clock: anything,
  })
  requireOptions('outboxAdmin', options, ['store'])
  return new OutboxAdmin(options)
}

/** Lets an operator look at an outbox, and act on it. */
export class OutboxAdmin<Tx> {
  /** Ordering keys: which are blocked, and what to do about them. */
  readonly keys: KeyAdmin<Tx>
  /** The record of what operators did. */
  readonly audit: AuditLog<Tx>
  readonly #options: OutboxAdminOptions<Tx>
  readonly #store: AdminStore<Tx>
  readonly #clock: Clock
  readonly #progress: SafeProgress

  /** Only `outboxAdmin` and `as` call this. */
  constructor(
    options: OutboxAdminOptions<Tx>,
    store: AdminStore<Tx> = new AdminStore(options.store),
    progress = new SafeProgress(options.clock ?? systemClock, loggerFrom(options.logger)),
  ) {
    this.#options = options
    this.#store = store
    this.#clock = options.clock ?? systemClock
    this.#progress = progress
    const actor = (what: string) => this.#actor(what)
    this.keys = new KeyAdmin(store, actor)
    this.audit = new AuditLog(store, actor)
  }

  /** Returns an admin whose actions stand in the audit under this name. */
  as(actor: string): OutboxAdmin<Tx> {
    checkNames('admin.as', { actor })
    return new OutboxAdmin({ ...this.#options, actor }, this.#store, this.#progress)
  }

  /** Returns the state of the outbox at a glance. */
  overview(): Promise<Overview> {
    return this.#store.call('overview', ['looks'], readOverview)
  }

  /**
   * Returns what is wrong with the outbox and its database, the worst first. Changes nothing. A schema that
   * is missing or too new is a finding, too.
   */
  async doctor(options: DoctorOptions = {}): Promise<readonly Finding[]> {
    const request = doctorRequest(options)
    return this.#store.examine((store) => examineOutbox(store, this.#clock, request))
  }

  /** Returns one page of the events that match, newest first by default. */
  async browse(filter: EventFilter = {}, options: BrowseOptions = {}): Promise<EventPage> {
    const wanted = lookFilter('browse', filter)
    return this.#store.call('browse', ['looks'], async ({ looks }) =>
      browse({ looks, clock: this.#clock, store: await looks.describe() }, wanted, options),
    )
  }

  /** Returns everything about one event; undefined if there is none with this id and destination. */
  async event(eventId: string, destination = ''): Promise<EventDetail | undefined> {
    checkNames('event', { eventId, destination })
    return this.#store.call('event', ['people', 'looks', 'actions'], (store) =>
      readEvent(store, eventId, destination),
    )
  }

  /** Returns the state of each destination: its events, last success, errors, pause and circuit breakers. */
  destinations(): Promise<DestinationOverview> {
    return this.#store.call('destinations', ['looks'], readDestinations)
  }

  /**
   * Gives the events that match another destination, as if they were written for it now. An event that has
   * the destination already is left alone. Returns how many were copied.
   */
  async copy(filter: Omit<EventFilter, 'destination'>, options: CopyOptions): Promise<number> {
    const actor = this.#actor('copy')
    const wanted = lookFilter('copy', filter)
    return this.#store.call('copy', ['looks', 'people', 'actions', 'routing'], (store) =>
      copyEvents({ store, clock: this.#clock, actor, progress: this.#progress }, wanted, options),
    )
  }

  /** Returns deliveries of all processes by the minute, the oldest first. The last minute is under way. */
  async deliveries(options: DeliveriesOptions = {}): Promise<readonly DeliveryMinute[]> {
    const minutes = minutesAskedFor(options)
    return this.#store.call('deliveries', ['looks'], (store) => readDeliveries(store, minutes))
  }

  /** Returns the newest 10,000 DEAD events, grouped by what went wrong. */
  failures(): Promise<FailureReport> {
    return this.#store.call('failures', ['looks'], ({ looks }) => readFailures(looks))
  }

  /** Returns which process owns which partition of ordering keys. */
  partitions(): Promise<PartitionShares> {
    return this.#store.call('partitions', ['partitions'], ({ partitions }) => partitions.look())
  }

  /**
   * Previews an action on the events that match: how many there are, and some of them. Changes nothing. Pass
   * the plan to `run`.
   */
  async plan(action: RowAction, filter: EventFilter, options: PlanOptions = {}): Promise<Plan> {
    const wanted = lookFilter('plan', filter)
    return this.#store.call('plan', ['looks'], async ({ looks }) =>
      makePlan({ looks, clock: this.#clock, store: await looks.describe() }, action, wanted, options),
    )
  }

  /** Runs a plan on what it previewed, batch by batch. Its audit entry shows how far it is. */
  async run(plan: Plan, options: RunOptions = {}): Promise<PlanResult> {
    checkRunOptions('run', options)
    const actor = this.#actor('run')
    return this.#store.call('run', ['people', 'looks', 'actions'], async (store) => {
      checkPlan(plan, await store.looks.describe())
      return runPlan(this.#runParts(store, actor), plan, options)
    })
  }

  /**
   * Continues a plan that was stopped, or whose process was killed, by the id of its audit entry. A process
   * that still runs it stops before its next batch. Keeps the pace of the plan unless `options` name another.
   */
  async resumeRun(id: string, options: RunOptions = {}): Promise<PlanResult> {
    checkRunOptions('resumeRun', options)
    const actor = this.#actor('resumeRun')
    const entry = await this.audit.entry(id)
    return this.#store.call('resumeRun', ['people', 'looks', 'actions'], async (store) => {
      if (entry.plan === null) throw notAPlan(id)
      if (entry.state === 'done') throw isDone(id)
      checkPlan(JSON.parse(entry.plan) as Plan, await store.looks.describe())
      return resumePlan(this.#runParts(store, actor), entry, options)
    })
  }

  /**
   * Writes a new event with another payload in place of one that is DEAD or DONE, and names that one in the
   * header `sendoff-replaces`. An event is replaced once: a second call returns the same new event. Checks
   * the payload if the option `events` has its type.
   */
  async replayEdited(
    eventId: string,
    payload: unknown,
    options: ReplacementOptions = {},
  ): Promise<Replacement> {
    checkNames('replayEdited', { eventId })
    const actor = this.#actor('replayEdited')
    const { events = [] } = this.#options
    return this.#store.call('replayEdited', ['people', 'actions'], (store) =>
      replaceEvent(store, actor, events, eventId, payload, options),
    )
  }

  /** Stops the delivery of an event type, or to a destination, on every process. */
  async pause(given: PauseTarget): Promise<void> {
    const target = pauseTargetOf('pause', given)
    const entry = { actor: this.#actor('pause'), action: 'pause', detail: JSON.stringify(target) }
    await this.#store.call('pause', ['controls'], async (store) => {
      await store.controls.pause(target, entry)
      await store.wakeUps?.announce({ controls: true }).catch(() => {})
    })
  }

  /** Ends a pause. */
  async resume(given: PauseTarget): Promise<void> {
    const target = pauseTargetOf('resume', given)
    const entry = { actor: this.#actor('resume'), action: 'resume', detail: JSON.stringify(target) }
    await this.#store.call('resume', ['controls'], async (store) => {
      await store.controls.resume(target, entry)
      await store.wakeUps?.announce({ controls: true }).catch(() => {})
    })
  }

  /** Returns what is paused. */
  paused(): Promise<readonly PauseTarget[]> {
    return this.#store.call('paused', ['controls'], ({ controls }) => controls.paused())
  }

  #runParts(store: RunParts<Tx>['store'], actor: string): RunParts<Tx> {
    return { store, clock: this.#clock, actor, progress: this.#progress, runner: randomUUID() }
  }

  #actor(what: string): string {
    const { actor } = this.#options
    if (actor !== undefined) return actor
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `Say who acts before ${what}(): admin.as('ann@example.com'). The audit keeps this name.`,
    )
  }
}

function notAPlan(id: string): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_PLAN',
    `Audit entry ${id} is not about a plan. Only plans can be resumed.`,
  )
}

function isDone(id: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_PLAN', `Plan ${id} is done. Make a new one with admin.plan().`)
}
