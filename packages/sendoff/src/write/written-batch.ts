import type { EventEnvelope } from '../event/event-envelope.ts'
import type { HeadersOfWrite } from '../observe/write-context.ts'
import type { DuplicateRow, InsertedRow, InsertResult, NewRow, Row } from '../store/index.ts'
import { type ColdReason, type HotPath, type HotSlot, isWantedNow, type LeftToPoller } from './hot-path.ts'
import { withHeaders } from './with-headers.ts'

/**
 * Gets whether events were kept; false if that is not known. `hasAsked` says whether the outbox asked the
 * database for long enough.
 */
export type OnKnown = (isKept: boolean, hasAsked: boolean) => void

/** Returns the destinations of an event: at least one. */
export type DestinationsOf = (event: EventEnvelope) => readonly string[]

/** The events of one insert, with a row for each of their destinations, and its place in the hot queue. */
export class WrittenBatch {
  readonly rows: readonly NewRow[]
  /** Whether the transaction itself wakes other processes for rows without a holder. */
  readonly isAnnounced: boolean
  readonly #events: readonly EventEnvelope[]
  /** The event of each row. */
  readonly #eventOfRow: readonly EventEnvelope[]
  readonly #hotPath: HotPath | undefined
  readonly #places: (HotSlot | ColdReason)[]
  #results: readonly InsertResult[] = []

  constructor(
    events: readonly EventEnvelope[],
    hotPath: HotPath | undefined,
    tellsOthers: boolean,
    write: HeadersOfWrite | undefined,
    destinationsOf: DestinationsOf | undefined,
  ) {
    this.#events = events
    this.#hotPath = hotPath
    let rows: readonly NewRow[]
    if (destinationsOf === undefined) {
      this.#eventOfRow = events
      this.#places = events.map((event) => hotPath?.reserve(event, '') ?? 'stopped')
      rows = events.map((event, index) => event.toRow(typeof this.#places[index] === 'object'))
    } else {
      const wanted = events.flatMap((event) =>
        destinationsOf(event).map((destination) => ({ event, destination })),
      )
      this.#eventOfRow = wanted.map(({ event }) => event)
      this.#places = wanted.map((row) => hotPath?.reserve(row.event, row.destination) ?? 'stopped')
      rows = expandedRows(wanted, this.#places)
    }
    this.rows = write === undefined ? rows : withHeaders(rows, write)
    this.isAnnounced =
      tellsOthers && this.#places.some((place) => typeof place === 'string' && isWantedNow(place))
  }

  /**
   * Takes the results of the insert. Returns the events that are part of the transaction, as far as the store
   * knows.
   */
  written(results: readonly InsertResult[]): readonly EventEnvelope[] {
    this.#results = results
    return this.kept()
  }

  /** The ids of the events, in order. A duplicate has the id of the earlier event. */
  get ids(): string[] {
    const idOf = (event: EventEnvelope, result: InsertResult | undefined): string =>
      result?.kind === 'duplicate' ? result.eventId : event.eventId
    if (this.#eventOfRow === this.#events)
      return this.#events.map((event, index) => idOf(event, this.#results[index]))
    return this.#events.map((event) => idOf(event, this.#results[this.#eventOfRow.indexOf(event)]))
  }

  /**
   * Dispatches the events after their commit. `onKnown` gets whether they were kept, at once if that is
   * certain.
   */
  committed(isConfirmed: boolean, now: number, onKnown: OnKnown | undefined): void {
    this.kept()
    const uncertain: number[] = []
    let isAnyCertain = false
    this.#places.forEach((place, index) => {
      const result = this.#resultOf(index)
      if (result?.kind === 'duplicate') return

      const isCertain = isConfirmed && result?.certain === true
      isAnyCertain ||= isCertain
      if (typeof place === 'string') return
      if (isCertain) place.fill(bornRow(this.rows[index]!, result, this.#hotPath!.lease.owner, now))
      else uncertain.push(index)
    })
    this.#lookUp(uncertain, false, isAnyCertain ? undefined : onKnown)
    this.#leaveToPoller()
    if (isAnyCertain) onKnown?.(true, false)
  }

  /** Dispatches the events that the database has, after a commit with an unknown outcome. */
  lookUp(inDoubt: boolean, onKnown: OnKnown | undefined): void {
    this.#lookUp([...this.#places.keys()], inDoubt, onKnown)
    this.#leaveToPoller()
  }

  #lookUp(indexes: readonly number[], inDoubt: boolean, onKnown: OnKnown | undefined): void {
    let asked = 0
    let isKnown = false
    const onAnswer =
      onKnown &&
      ((exists: boolean | undefined) => {
        asked--
        if (isKnown || (!exists && asked > 0)) return
        isKnown = true
        onKnown(exists === true, true)
      })
    for (const index of indexes) {
      const place = this.#places[index]!
      if (typeof place === 'string') continue
      asked++
      place.lookUp(this.rows[index]!, inDoubt, onAnswer)
    }
    if (asked === 0) onKnown?.(false, false)
  }

  /** The events without known duplicates, whose idempotency key was used before. */
  kept(): readonly EventEnvelope[] {
    if (this.#results.every(({ kind }) => kind === 'inserted')) return this.#events
    const kept = this.#eventOfRow.filter((_, index) => {
      const isDuplicate = this.#resultOf(index)?.kind === 'duplicate'
      if (isDuplicate) this.#giveBack(index)
      return !isDuplicate
    })
    return this.#eventOfRow === this.#events ? kept : [...new Set(kept)]
  }

  /** Returns the result of a row, or undefined while the store does not know it. */
  #resultOf(index: number): InsertedRow | DuplicateRow | undefined {
    const result = this.#results[index]
    return result?.kind === 'queued' ? result.result() : result
  }

  #leaveToPoller(): void {
    const left: LeftToPoller[] = []
    this.#places.forEach((place, index) => {
      const isLeft = typeof place === 'string' && this.#resultOf(index)?.kind !== 'duplicate'
      const { partitionNo: partition, destination } = this.rows[index]!
      if (isLeft) left.push({ event: this.#eventOfRow[index]!, destination, partition, reason: place })
    })
    if (left.length > 0) this.#hotPath?.leftToPoller(left, this.isAnnounced)
  }

  giveBack(): void {
    this.#places.forEach((_, index) => this.#giveBack(index))
  }

  #giveBack(index: number): void {
    const place = this.#places[index]
    if (typeof place === 'object') place.giveBack()
  }
}

/** Returns a row for each event and destination. The rows of one event differ in these fields alone. */
function expandedRows(
  wanted: readonly { readonly event: EventEnvelope; readonly destination: string }[],
  places: readonly (HotSlot | ColdReason)[],
): readonly NewRow[] {
  let first: { readonly event: EventEnvelope; readonly row: NewRow } | undefined
  return wanted.map(({ event, destination }, index) => {
    const claimed = typeof places[index] === 'object'
    if (first?.event === event) return { ...first.row, destination, claimed }
    const row = event.toRow(claimed, destination)
    first = { event, row }
    return row
  })
}

/** Returns the row as the database has it, without reading it back. */
function bornRow(
  row: NewRow,
  { seq, deliveries }: { seq: number; deliveries: number },
  owner: string,
  now: number,
): Row {
  const { eventId, destination, eventType, aggregateType, aggregateId, tenantId, orderingKey, partitionNo } =
    row
  const { payload, contentType, headers, occurredAt } = row
  return {
    seq,
    eventId,
    destination,
    eventType,
    aggregateType,
    aggregateId,
    tenantId,
    orderingKey,
    partitionNo,
    payload,
    contentType,
    headers,
    attempts: 0,
    deliveries,
    losses: 0,
    availableAt: now,
    occurredAt,
    createdAt: now,
    lockedBy: owner,
  }
}
