import type { StoredRow } from '../../../packages/sendoff/src/store/index.ts'
import { keepsOrder } from '../processes/node-setup.ts'
import type { JudgedDelivery, JudgedHistory, JudgedSettlement } from './judged-history.ts'
import { isFinal } from './rules/duplicate-rules.ts'

/** Events that are to be delivered one after another, in the order of writing. */
export interface JudgedLane {
  readonly name: string
  readonly events: readonly LaneEvent[]
  /** Of all events, in the order of their starts. */
  readonly starts: readonly LaneStart[]
}

export interface LaneEvent {
  readonly row: StoredRow
  /** Whether its writer wanted it to be delivered later. */
  readonly isDelayed: boolean
  readonly firstStart: JudgedDelivery | undefined
  /** When the store's word that it is DONE or DEAD was heard; Infinity if nobody heard it. */
  readonly settledAt: number
}

export interface LaneStart {
  readonly event: LaneEvent
  readonly delivery: JudgedDelivery
}

/** The lanes of a run: those of its ordering keys, or one for everything; none where no order is kept. */
export function lanesOf(history: JudgedHistory): readonly JudgedLane[] {
  const { mode } = history.settings
  if (!keepsOrder(mode)) return []

  const inOrder = [...history.rows.values()].sort((a, b) => a.seq - b.seq)
  const rowsByLane = Map.groupBy(inOrder, ({ orderingKey }) => (mode === 'ordered' ? 'all' : orderingKey))
  return [...rowsByLane].flatMap(([name, rows]) => (name === null ? [] : [laneOf(history, name, rows)]))
}

function laneOf(history: JudgedHistory, name: string, rows: readonly StoredRow[]): JudgedLane {
  const events = rows.map((row) => ({
    row,
    isDelayed: history.written.get(row.eventId)?.notBefore !== undefined,
    firstStart: history.deliveries.get(row.eventId)?.[0],
    settledAt: history.settlements.get(row.eventId)?.find(isFinal)?.at ?? Infinity,
  }))
  const starts = events
    .flatMap((event) =>
      (history.deliveries.get(event.row.eventId) ?? []).map((delivery) => ({ event, delivery })),
    )
    .sort((a, b) => a.delivery.at - b.delivery.at)
  return { name, events, starts }
}

/**
 * Whether an event, of which nobody had heard that it was settled when another one started, may have been settled
 * nevertheless, or whether the other one was started by somebody who could not know.
 */
export function explainedUnsettled(
  history: JudgedHistory,
  { row, firstStart }: LaneEvent,
  { delivery }: LaneStart,
): boolean {
  if (isStaleStart(history, firstStart!.at, delivery)) return true

  const { at } = delivery
  const settled = history.settlements.get(row.eventId)?.find(isFinal)
  if (settled !== undefined) return settled.since <= at && heardLate(history, settled, at)

  // Whoever could have settled it unheard must have been away before, and nobody may have had to deliver it since.
  const deliveries = history.deliveries.get(row.eventId) ?? []
  const isThrough = !deliveries.some((later) => later.at > at && !isStaleStart(history, at, later))
  return isThrough && deliveries.some((earlier) => maybeSettled(history, earlier, at))
}

function heardLate(history: JudgedHistory, { process, since }: JudgedSettlement, at: number): boolean {
  return (history.killedAt(process) ?? Infinity) <= at || history.wasAway(process, since, at)
}

function maybeSettled(
  history: JudgedHistory,
  { event, process, endedAt }: JudgedDelivery,
  at: number,
): boolean {
  if (endedAt === undefined || endedAt > at) return false
  if ((history.killedAt(process) ?? Infinity) <= at || history.wasAway(process, endedAt, at)) return true
  return history.failedSettlements.some(
    (failed) => failed.event === event && failed.process === process && failed.since <= at,
  )
}

/**
 * Whether a delivery was decided on before its process was stopped, or lost its database, and began when others had taken
 * over: since `from`. Nobody can prevent that, but what comes of it must be refused.
 */
export function isStaleStart(
  history: JudgedHistory,
  from: number,
  { event, process, token, at }: JudgedDelivery,
) {
  if (!history.wasAway(process, from, at)) return false
  const accepted = history.settlements
    .get(event)
    ?.some(
      (settlement) => settlement.process === process && settlement.token === token && !settlement.refused,
    )
  return !accepted
}
