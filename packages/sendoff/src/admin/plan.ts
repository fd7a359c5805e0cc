import { type Clock, delay } from '../clock.ts'
import { OutboxError } from '../errors.ts'
import { checkOptions, duration, flag, text } from '../options.ts'
import { EventStatus, isPending } from '../store/event-status.ts'
import type {
  LookBound,
  LookFilter,
  OutboxLooks,
  RowAction,
  RowId,
  StoreDescription,
  StoredRow,
} from '../store/index.ts'
import { search } from './browse.ts'
import { checksumOf } from './checksum.ts'
import { countBound } from './limits.ts'

/**
 * An action on the events that a filter matched at one moment. A plain value: it can be stored, sent, shown
 * to another operator, and run later. Running it never touches an event that came since.
 */
export interface Plan {
  readonly action: RowAction
  readonly filter: LookFilter
  /** The moment of the plan by the database's clock, and the highest `seq` at that moment. */
  readonly bound: LookBound
  /** The table that it was made for. */
  readonly store: StoreDescription
  /** How many events match. If it is not exact, there are at least as many. */
  readonly count: number
  readonly isExact: boolean
  /** Some of these events. */
  readonly sample: readonly PlanSample[]
  /** The error text of events that become DEAD. */
  readonly reason: string
  readonly checksum: string
}

/** An event of a plan. */
export interface PlanSample extends RowId {
  readonly eventType: string
  readonly lastError: string | null
}

/** Options of `plan`. */
export interface PlanOptions {
  /** The error text of events that become DEAD. Default: `Cancelled.` or `Skipped.` */
  readonly reason?: string
  /** Has to be true for a filter that names nothing but a status: it matches every such event. */
  readonly all?: boolean
  /** How long the preview may search. Default: 1,000. */
  readonly budgetMs?: number
}

const optionChecks = { reason: text, all: flag, budgetMs: duration }
const sampleSize = 5

/** How long it takes until the clock of every database shows another time. */
const nextTimeMs = 2

/** The states that an action applies to, and its usual reason. */
const actions: Readonly<Record<RowAction, { readonly filter: LookFilter; readonly reason: string }>> = {
  replay: { filter: { status: [EventStatus.DEAD] }, reason: '' },
  cancel: { filter: { status: [EventStatus.NEW, EventStatus.RETRY] }, reason: 'Cancelled.' },
  skip: { filter: { isBlocked: true }, reason: 'Skipped.' },
  purge: { filter: { status: [EventStatus.DONE, EventStatus.DEAD] }, reason: '' },
}

/** Previews an action. Changes nothing. */
export async function makePlan(
  { looks, clock, store }: { looks: OutboxLooks; clock: Clock; store: StoreDescription },
  action: RowAction,
  given: LookFilter,
  options: PlanOptions,
): Promise<Plan> {
  checkOptions('plan', options, optionChecks)
  const filter = filterOf(action, given)
  if (options.all !== true) requireCondition(action, given)

  const bound = await looks.bound()
  // What changes from now on has a later time than the plan, and the preview shows all that has none.
  await delay(clock, nextTimeMs)
  const { rows, next } = await search({
    looks,
    clock,
    filter: { ...filter, bound },
    order: 'oldest',
    limit: countBound,
    budgetMs: options.budgetMs ?? 1_000,
  })
  const plan = {
    action,
    filter,
    bound,
    store,
    count: rows.length,
    isExact: next === undefined,
    sample: rows.slice(0, sampleSize).map(sampleOf),
    reason: options.reason ?? actions[action].reason,
  }
  return { ...plan, checksum: checksumOf(plan) }
}

/** Throws `OUTBOX_INVALID_PLAN` unless this is an unaltered plan for this table that matches something. */
export function checkPlan(plan: Plan, store: StoreDescription): void {
  if (typeof plan !== 'object' || plan === null) throw invalidPlan('This is no plan.')
  const { checksum, ...content } = plan
  if (checksumOf(content) !== checksum) throw invalidPlan('This plan was altered, or is no plan.')
  if (checksumOf(plan.store) !== checksumOf(store)) {
    throw invalidPlan(
      `This plan was made for ${plan.store.kind} table ${plan.store.name}, not for ${store.kind} table ${store.name}.`,
    )
  }
  if (plan.count === 0 && plan.isExact)
    throw invalidPlan('This plan matches no event, so nothing can be run.')
}

function filterOf(action: RowAction, given: LookFilter): LookFilter {
  const usual = Object.hasOwn(actions, action) ? actions[action].filter : undefined
  if (usual === undefined) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `A plan can ${Object.keys(actions).join(', ')}, but not "${String(action)}".`,
    )
  }
  const { status, isBlocked } = given
  if (status === undefined && isBlocked === undefined) return { ...given, ...usual }

  const fits =
    action === 'skip'
      ? isBlocked === true
      : isBlocked
        ? action === 'cancel'
        : status!.every((code) => usual.status!.includes(code))
  if (fits) return given
  const states =
    action === 'skip'
      ? 'BLOCKED'
      : action === 'replay'
        ? 'DEAD'
        : action === 'purge'
          ? 'DONE and DEAD'
          : 'PENDING and BLOCKED'
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `A plan to ${action} is about ${states} events only. Leave "status" out of the filter, or name one of these.`,
  )
}

function requireCondition(action: RowAction, { status, isBlocked, ...conditions }: LookFilter): void {
  if (Object.values(conditions).some((value) => value !== undefined)) return
  const which = isBlocked ? 'blocked' : status?.every(isPending) ? 'pending' : 'such'
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `This plan to ${action} matches every ${which} event. Narrow its filter, or pass { all: true } if you mean all of them.`,
  )
}

function sampleOf({ eventId, destination, eventType, lastError }: StoredRow): PlanSample {
  return { eventId, destination, eventType, lastError }
}

function invalidPlan(what: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_PLAN', `${what} Make a new one with admin.plan().`)
}
