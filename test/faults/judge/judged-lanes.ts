import { EventStatus, type StoredRow } from '../../../packages/sendoff/src/store/index.ts'
import { keepsOrder } from '../processes/node-setup.ts'
import type { JudgedDelivery, JudgedHistory, JudgedSettlement } from './judged-history.ts'
import { isFinal } from './rules/duplicate-rules.ts'

/** Events that are to be delivered one after another, in write order. */
export interface JudgedLane {
  readonly name: string
  readonly events: readonly LaneEvent[]
  /** The starts of all events, in the order of time. */
  readonly starts: readonly LaneStart[]
}

export interface LaneEvent {
  readonly row: StoredRow
  /** Whether its writer delayed it. */
  readonly isDelayed: boolean
  readonly firstStart: JudgedDelivery | undefined
  /** When a process got the store's reply that it is DONE or DEAD; Infinity if none did. */
  readonly settledAt: number
}

export interface LaneStart {
  readonly event: LaneEvent
  readonly delivery: JudgedDelivery
}

/**
 * Returns the lanes of a run: those of its ordering keys, or one for everything; none for modes without
 * order.
 */
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
 * An event started, and no process had recorded yet that the one in front was settled. Returns whether that
 * one may have been settled all the same, or the later one was started by a process that could not know.
 */
export function explainedUnsettled(
  history: JudgedHistory,
  { row, firstStart }: LaneEvent,
  { delivery }: LaneStart,
): boolean {
  if (isStaleStart(history, firstStart!.at, delivery)) return true

  const { at } = delivery
  const settled = history.settlements.get(row.eventId)?.find(isFinal)
  if (settled !== undefined) {
    // Another process reads from the store what is settled. It may know before the process that settled it,
    // which still waits for the reply.
    const knowsFromStore = settled.process !== delivery.process
    if (settled.since <= at && (knowsFromStore || heardLate(history, settled, at))) return true
    // A try without an answer may have settled it. The store knows then, and so do the other processes.
    return history.failedSettlements.some(
      ({ event, process, since }) => event === row.eventId && process !== delivery.process && since <= at,
    )
  }

  // A process that settled it without a record must have been away before. And no process may have delivered
  // it since.
  const deliveries = history.deliveries.get(row.eventId) ?? []
  const isThrough = !deliveries.some((later) => later.at > at && !isStaleStart(history, at, later))
  return (
    isThrough &&
    (deliveries.some((earlier) => maybeSettled(history, earlier, at)) || wasGivenUpUnheard(history, row, at))
  )
}

/** Returns whether a process may have settled an event that it did not deliver, such as a poison one, without a record. */
function wasGivenUpUnheard(history: JudgedHistory, { eventId, status }: StoredRow, at: number): boolean {
  if (status !== EventStatus.DEAD) return false
  const last = history.deliveries.get(eventId)?.at(-1)?.at ?? -Infinity
  if (history.kills.some((kill) => kill.at > last && kill.at <= at)) return true
  return history.failedSettlements.some(({ event, since }) => event === eventId && since <= at)
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
  if (history.hadEnded(process, at) && history.hasClosedInVain(process, endedAt)) return true
  if ((history.killedAt(process) ?? Infinity) <= at || history.wasAway(process, endedAt, at)) return true
  return history.failedSettlements.some(
    (failed) => failed.event === event && failed.process === process && failed.since <= at,
  )
}

/**
 * Returns whether a process chose a delivery, was then stopped or lost its database, and began it after
 * others had taken over, since `from`. The library cannot prevent that, but the store must refuse the
 * settlement.
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
