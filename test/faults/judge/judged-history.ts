import { destinationIn, isOfBroken, judgedRow } from '../history/rows-of-events.ts'
import type { StoredRow } from '../../../packages/sendoff/src/store/index.ts'
import { lockHarmNames } from '../stores/lock-harms.ts'
import type { FaultMode } from '../processes/node-setup.ts'
import type {
  DeliveryStart,
  FoundRow,
  HistoryRecord,
  Intent,
  LockGivenUp,
  LockTaken,
  SeenSettlement,
  WrittenEvent,
} from '../history/history-record.ts'

/** The settings of a run that the rules need. */
export interface JudgedSettings {
  readonly mode: FaultMode
  readonly workerCount: number
  readonly leaseMs: number
  readonly intervalMs: number
  readonly maxAttempts: number
  readonly maxLosses: number
  readonly hangTimeoutMs: number
  readonly hangGraceMs: number
  readonly closeMs: number
  /** How much later than promised things may be, in ms: what the machine needs. */
  readonly marginMs: number
  /** How long an event that was due may wait after an outage, or after the last fault, in ms. */
  readonly recoveryMs: number
  /** How long an event that had not begun may wait after a process was asked to end, in ms. */
  readonly handOverMs: number
  /** When the second destination could not be reached, by the clock of the history; left out without it. */
  readonly broken?: { readonly from: number; readonly to: number }
  /** How long the server may keep the transaction of a client that is gone unnoticed, in ms. */
  readonly abandonedMs?: number
}

/** All that is known at the end of a run. */
export interface Evidence {
  readonly history: readonly HistoryRecord[]
  readonly rows: readonly StoredRow[]
  /** Transactions whose business data is in the database. */
  readonly businessRows: readonly string[]
  readonly settings: JudgedSettings
  /** Epoch ms of a correct clock at the begin and at the end of the run. */
  readonly wallClock: Period
}

export interface JudgedDelivery extends DeliveryStart {
  readonly at: number
  readonly process: string
  /** When its listener returned; undefined if it never did. */
  readonly endedAt: number | undefined
  /** When its listener was told to stop; undefined if it never was. */
  readonly abortedAt: number | undefined
}

export interface JudgedSettlement extends SeenSettlement {
  readonly at: number
  readonly since: number
  readonly process: string
}

export interface JudgedFind extends FoundRow {
  readonly process: string
  readonly since: number
}

export interface FailedSettlement {
  readonly event: string
  readonly process: string
  readonly since: number
}

export interface JudgedTransaction extends Intent {
  readonly process: string
  readonly end: 'commit' | 'rollback' | 'unknown'
}

/** From one moment to another, `Infinity` if it never ended. */
export interface Period {
  readonly from: number
  readonly to: number
}

export interface JudgedOutage extends Period {
  readonly what: string
  /** The slot that it was meant for; all slots if undefined. */
  readonly slot: string | undefined
}

/** A partition that a process owns, as far as the process knows. */
export interface Ownership {
  readonly partition: number
  readonly epoch: number
  readonly process: string
  readonly token: string
  /** When the process asked for it. */
  readonly since: number
  /** When the process got it. */
  readonly from: number
  /** When the process recorded that it gave it up; Infinity if it never did. */
  readonly until: number
  /** Whether it was given up with all others of the token: with the lock, which may have been lost earlier. */
  readonly endsWithLock: boolean
}

/** The lock of a destination, held by a process, as far as the process knows. */
export interface Holding {
  readonly process: string
  readonly destination: string
  readonly from: number
  /** When the process next asked for it; Infinity if it never did. */
  readonly until: number
  readonly isGivenBack: boolean
}

interface ProcessTroubles {
  killedAt: number | undefined
  readonly stops: Period[]
  readonly cutOffs: Period[]
  /** The cut-offs in which the process did not run. */
  readonly stalls: Period[]
}

/** The evidence of a run, arranged for the questions of the rules. */
export class JudgedHistory {
  readonly evidence: Evidence
  readonly settings: JudgedSettings
  readonly rows: ReadonlyMap<string, StoredRow>
  readonly transactions = new Map<string, JudgedTransaction>()
  /** Events that may have been committed, by id. */
  readonly written = new Map<string, WrittenEvent & { readonly tx: string; readonly at: number }>()
  /** The deliveries of each event in the order of their starts. */
  readonly deliveries = new Map<string, JudgedDelivery[]>()
  readonly settlements = new Map<string, JudgedSettlement[]>()
  /** Failed settlements of an event. */
  readonly failedSettlements: FailedSettlement[] = []
  /** Settlements of an event that got no reply in time, or none at all. */
  readonly unansweredSettlements: FailedSettlement[] = []
  /** The rows that processes read to learn whether they had settled them. */
  readonly finds: JudgedFind[] = []
  /** The owners of each partition, by epoch. */
  readonly ownerships: ReadonlyMap<number, readonly Ownership[]>
  readonly holdings: readonly Holding[]
  /** Failed attempts to get partitions. */
  readonly failedGains: { readonly since: number; readonly partitions: readonly number[] }[] = []
  readonly kills: { readonly target: string; readonly at: number }[] = []
  /** From the moment that a listener ended its process, until others may take over its events. */
  readonly selfMadeEnds: Period[] = []
  readonly outages: JudgedOutage[] = []
  /** When processes were asked to end. */
  readonly closings: { readonly target: string; readonly at: number }[] = []
  /** When the database replied to a process again, by process. */
  readonly backs = new Map<string, number[]>()
  /** Every process that delivers. */
  readonly workers: readonly string[]
  /** How many refused settlements a process counted until it had closed. A killed process tells nothing. */
  readonly refusalsTold = new Map<string, { readonly count: number; readonly at: number }>()
  /** When the last harm was over; -Infinity where none was done. */
  lastFaultAt = -Infinity
  readonly #troubles = new Map<string, ProcessTroubles>()
  #catchingUp: readonly Period[] | undefined

  constructor(evidence: Evidence) {
    this.evidence = evidence
    this.settings = evidence.settings
    this.rows = new Map(evidence.rows.map(judgedRow).map((row) => [row.eventId, row]))
    this.#readTransactions()
    this.#readDeliveries()
    this.#readTroubles()
    this.ownerships = this.#readOwnerships()
    this.holdings = this.#readHoldings()
    this.workers = evidence.history.flatMap((record) =>
      record.kind === 'ready' && record.delivers ? [record.process] : [],
    )
  }

  /** Returns whether a process had ended by then, in any way. */
  hadEnded(process: string, by: number): boolean {
    return this.evidence.history.some(
      (record) => record.kind === 'exit' && record.target === process && record.at <= by,
    )
  }

  killedAt(process: string): number | undefined {
    return this.#troubles.get(process)?.killedAt
  }

  /** Returns whether the process did not run, or was without its database, at some moment between the two. */
  wasAway(process: string, from: number, to: number): boolean {
    const stops = this.#troubles.get(process)?.stops ?? []
    return this.wasCutOff(process, from, to) || stops.some((stop) => stop.from < to && stop.to > from)
  }

  /** Returns whether the process was without its database at some moment between the two. */
  wasCutOff(process: string, from: number, to: number): boolean {
    const cutOffs = this.#troubles.get(process)?.cutOffs ?? []
    return [...cutOffs, ...this.#databaseCrashes].some((cutOff) => cutOff.from < to && cutOff.to > from)
  }

  // A process may not have called its database during a crash, so that it has no record of its own.
  get #databaseCrashes(): readonly Period[] {
    return this.outages.filter(({ what }) => what === 'databaseCrash')
  }

  /** Returns whether its process was asked to end before then, and stopped waiting for the delivery. */
  wasGivenUp({ process, at, endedAt = Infinity }: JudgedDelivery, by: number): boolean {
    const closing = this.closings.find(({ target }) => target === process)
    return closing !== undefined && at < by && closing.at < by && endedAt > closing.at + this.settings.closeMs
  }

  /**
   * Returns whether the process was asked to end after `since`, or shortly before, and used all the time that
   * closing may take.
   */
  hasClosedInVain(process: string, since: number): boolean {
    const closing = this.closings.find(({ target }) => target === process)
    if (closing === undefined) return false
    if (closing.at <= since) return true
    // Its clock may be faster than that of the judge.
    return !this.hadEnded(process, closing.at + this.settings.closeMs * 0.95)
  }

  /**
   * Returns whether the process did not run at some moment between the two, because it was stopped or the
   * machine was busy.
   */
  wasStill(process: string, from: number, to: number): boolean {
    const { stops = [], stalls = [] } = this.#troubles.get(process) ?? {}
    return [...stops, ...stalls].some((period) => period.from < to && period.to > from)
  }

  /** Returns for how long between the two moments the process did not run, in ms. */
  stillMs(process: string, from: number, to: number): number {
    const { stops = [], stalls = [] } = this.#troubles.get(process) ?? {}
    return coveredMs([...stops, ...stalls], from, to)
  }

  /** Returns the lock of the event's destination that a process had taken last, at a moment. */
  lastHolding(process: string, event: string, at: number): Holding | undefined {
    const destination = destinationIn(event)
    return this.holdings.findLast(
      (each) => each.process === process && each.destination === destination && each.from <= at,
    )
  }

  /**
   * Returns whether the driver changed the lock past its holder, after the holder had got it for this
   * delivery.
   */
  wasLockHarmed({ process, event, at }: JudgedDelivery, by: number): boolean {
    const holding = this.lastHolding(process, event, at)
    if (holding === undefined) return false
    return this.outages.some(
      ({ what, from, to }) => lockHarmNames.includes(what) && to >= holding.from && from < by,
    )
  }

  /**
   * Returns for how long between the two moments others were harmed, or may not have been replaced yet, or
   * had their only worker in a listener, or an event that runs alone, in ms.
   */
  otherFaultsMs(process: string, from: number, to: number): number {
    const periods: Period[] = []
    for (const [other, { killedAt, stops, cutOffs }] of this.#troubles) {
      if (other === process) continue
      if (killedAt !== undefined) periods.push({ from: killedAt, to: killedAt + this.settings.leaseMs })
      periods.push(...stops, ...cutOffs)
    }
    const runs = [...this.#onlyWorkerRuns(), ...this.#loneRuns()]
    return coveredMs([...periods, ...this.outages, ...runs], from, to)
  }

  /**
   * Returns the periods in which an event may wait because its destination cannot be reached, or because listeners run
   * for the events that waited for that. There are none for events of other destinations.
   */
  catchingUp(event: string): readonly Period[] {
    const { broken } = this.settings
    if (broken === undefined || !isOfBroken(event)) return []
    return (this.#catchingUp ??= [broken, ...this.#runsOfBacklog(broken.to)])
  }

  #runsOfBacklog(reachableAt: number): readonly Period[] {
    return [...this.deliveries].flatMap(([event, deliveries]) => {
      if (!isOfBroken(event) || (this.written.get(event)?.at ?? Infinity) > reachableAt) return []
      return deliveries.map(({ at, endedAt = at }) => ({ from: at, to: endedAt }))
    })
  }

  /**
   * The runs of events that a killed process had held before. Such an event may run alone: everything else
   * in its process waits.
   */
  #loneRuns(): readonly Period[] {
    return [...this.deliveries.values()].flatMap((deliveries) => {
      const first = deliveries.findIndex(
        ({ process, endedAt = Infinity }) => endedAt > (this.killedAt(process) ?? Infinity),
      )
      if (first === -1) return []
      return deliveries.slice(first + 1).map(({ at, endedAt = at }) => ({ from: at, to: endedAt }))
    })
  }

  #onlyWorkerRuns(): readonly Period[] {
    const { workerCount, hangTimeoutMs, hangGraceMs } = this.settings
    if (workerCount > 1) return []
    const longestMs = hangTimeoutMs + hangGraceMs
    return [...this.deliveries.values()]
      .flat()
      .map(({ at, act, endedAt = at }) => ({ from: at, to: act === 'hang' ? at + longestMs : endedAt }))
  }

  #readTransactions(): void {
    const ends = new Map<string, JudgedTransaction['end']>()
    for (const record of this.evidence.history) {
      if (record.kind === 'commit' || record.kind === 'rollback' || record.kind === 'unknown') {
        ends.set(record.tx, record.kind)
      }
    }
    for (const record of this.evidence.history) {
      if (record.kind !== 'intent') continue
      const end = ends.get(record.tx) ?? 'unknown'
      // Its end does not matter: it was never asked to commit.
      this.transactions.set(record.tx, { ...record, end: record.rollsBack ? 'rollback' : end })
      for (const event of record.events) {
        this.written.set(event.id, { ...event, tx: record.tx, at: record.at })
      }
    }
  }

  #readDeliveries(): void {
    const ends = new Map<string, number>()
    const aborts = new Map<string, number>()
    for (const record of this.evidence.history) {
      if (record.kind === 'end') ends.set(`${record.process}/${record.delivery}`, record.at)
      else if (record.kind === 'aborted') aborts.set(`${record.process}/${record.delivery}`, record.at)
    }
    for (const record of this.evidence.history) {
      if (record.kind === 'start') {
        const name = `${record.process}/${record.delivery}`
        const times = { endedAt: ends.get(name), abortedAt: aborts.get(name) }
        listOf(this.deliveries, record.event).push({ ...record, ...times })
      } else if (record.kind === 'settled') {
        const { at, since, process } = record
        for (const settlement of record.settlements) {
          listOf(this.settlements, settlement.event).push({ ...settlement, at, since, process })
        }
      } else if (record.kind === 'found') {
        const { since, process } = record
        for (const row of record.rows) this.finds.push({ ...row, since, process })
      } else if (record.kind === 'unsettled' || record.kind === 'unanswered') {
        const { kind, since, process } = record
        const failed = kind === 'unsettled' ? this.failedSettlements : this.unansweredSettlements
        for (const event of record.events) failed.push({ event, process, since })
      }
    }
  }

  #readOwnerships(): ReadonlyMap<number, readonly Ownership[]> {
    const ownerships: Ownership[] = []
    // An epoch is given up once: a later request of its owner changes nothing.
    const ends = new Map<
      string,
      { readonly at: number; readonly partitions: readonly number[] | undefined }[]
    >()
    for (const record of this.evidence.history) {
      if (record.kind === 'gained') {
        const { at: from, since, process, token } = record
        for (const owned of record.partitions) {
          ownerships.push({ ...owned, process, token, since, from, until: Infinity, endsWithLock: false })
        }
      } else if (record.kind === 'givenUp') {
        listOf(ends, record.token).push({ at: record.at, partitions: record.partitions })
      } else if (record.kind === 'notGained') {
        this.failedGains.push({ since: record.since, partitions: record.partitions })
      }
    }
    const ended = ownerships.map((ownership) => {
      const end = ends
        .get(ownership.token)
        ?.find(
          ({ at, partitions }) => at >= ownership.from && (partitions?.includes(ownership.partition) ?? true),
        )
      const endsWithLock = end !== undefined && end.partitions === undefined
      return { ...ownership, until: end?.at ?? Infinity, endsWithLock }
    })
    return Map.groupBy(
      ended.sort((a, b) => a.epoch - b.epoch || a.from - b.from),
      ({ partition }) => partition,
    )
  }

  #readHoldings(): readonly Holding[] {
    const { history } = this.evidence
    const taken = history.filter((record) => record.kind === 'lockTaken')
    // Two locks of one process may have the same token.
    const nameOf = ({ destination, token }: LockTaken | LockGivenUp) => `${token} ${destination}`
    const givenUp = new Set(
      history.flatMap((record) => (record.kind === 'lockGivenUp' ? [nameOf(record)] : [])),
    )
    return taken.map((record) => {
      const { process, destination, at } = record
      const next = taken.find(
        (each) => each.process === process && each.destination === destination && each.at > at,
      )
      return {
        process,
        destination,
        from: at,
        until: next?.since ?? Infinity,
        isGivenBack: givenUp.has(nameOf(record)),
      }
    })
  }

  #readTroubles(): void {
    for (const record of this.evidence.history) {
      if (record.kind === 'cutOff') {
        const period = { from: record.since, to: record.at }
        this.#troublesOf(record.process).cutOffs.push(period)
        if (record.what === 'stall') this.#troublesOf(record.process).stalls.push(period)
      } else if (record.kind === 'back') {
        listOf(this.backs, record.process).push(record.at)
      } else if (record.kind === 'refusalsTold') {
        this.refusalsTold.set(record.process, { count: record.count, at: record.at })
      } else if (record.kind === 'outage') {
        const { what, since, at, slot } = record
        this.outages.push({ what, slot, from: since, to: at })
        this.lastFaultAt = at
      } else if (record.kind === 'fault') {
        this.lastFaultAt = record.at
        const troubles = this.#troublesOf(record.target)
        if (record.fault === 'kill') {
          troubles.killedAt ??= record.at
          this.kills.push({ target: record.target, at: record.at })
          if (record.process === record.target) {
            this.selfMadeEnds.push({ from: record.at, to: record.at + this.settings.leaseMs })
          }
        } else if (record.fault === 'stop') {
          troubles.stops.push({ from: record.at, to: Infinity })
        } else if (record.fault === 'restart') {
          this.closings.push({ target: record.target, at: record.at })
        } else if (record.fault === 'cont') {
          const last = troubles.stops.pop()
          if (last !== undefined) troubles.stops.push({ from: last.from, to: record.at })
        }
      }
    }
  }

  #troublesOf(process: string): ProcessTroubles {
    let troubles = this.#troubles.get(process)
    if (troubles === undefined) {
      troubles = { killedAt: undefined, stops: [], cutOffs: [], stalls: [] }
      this.#troubles.set(process, troubles)
    }
    return troubles
  }
}

/** Returns how much of the time between two moments is in at least one of the periods, in ms. */
export function coveredMs(periods: readonly Period[], from: number, to: number): number {
  let covered = 0
  let reached = from
  for (const period of periods.toSorted((a, b) => a.from - b.from)) {
    const start = Math.max(reached, period.from)
    const end = Math.min(to, period.to)
    if (end <= start) continue
    covered += end - start
    reached = end
  }
  return covered
}

function listOf<Item>(lists: Map<string, Item[]>, key: string): Item[] {
  let list = lists.get(key)
  if (list === undefined) lists.set(key, (list = []))
  return list
}
