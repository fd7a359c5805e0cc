import { EventStatus } from '../../../../packages/sendoff/src/store/event-status.ts'
import type { StoredRow } from '../../../../packages/sendoff/src/store/index.ts'
import { checkHistory } from '../checker.ts'
import type { Act, Behaviour, HistoryRecord, TransactionEnd } from '../../history/history-record.ts'
import type { Evidence, JudgedSettings, Period } from '../judged-history.ts'
import type { FaultMode } from '../../processes/node-setup.ts'

export const forgedSettings: JudgedSettings = {
  mode: 'multiNode',
  workerCount: 1,
  leaseMs: 1_000,
  intervalMs: 200,
  maxAttempts: 4,
  maxLosses: 5,
  hangTimeoutMs: 300,
  hangGraceMs: 300,
  closeMs: 500,
  marginMs: 500,
  recoveryMs: 3_000,
  handOverMs: 2_000,
}

/** For each rule: cases that break it, and similar ones that do not. */
export type ForgedCases = Readonly<
  Record<string, { readonly broken: readonly ForgedCase[]; readonly kept: readonly ForgedCase[] }>
>

export interface ForgedCase {
  readonly what: string
  readonly run: ForgedRun
}

/** The period of the forged run by a correct clock. */
export const forgedWallClock = { from: Date.UTC(2026, 0, 1, 12), to: Date.UTC(2026, 0, 1, 12, 5) }

interface ForgedDelivery {
  readonly by?: string
  readonly at: number
  /** Null for a delivery that never ends. */
  readonly until?: number | null
  /** When its listener is told to stop; null if never. A hanging one is told by default. */
  readonly aborted?: number | null
  readonly token?: number
  readonly attempt?: number
  readonly epoch?: number
  readonly act?: Act
  /** The outcome that the store accepts; null for none, `refused` for a refused one. */
  readonly settled?: string | null
}

/** An invented run for the checker to judge. It is sound unless a test says otherwise. */
export class ForgedRun {
  readonly #history: HistoryRecord[] = []
  readonly #rows = new Map<string, StoredRow>()
  readonly #businessRows = new Set<string>()
  #deliveries = 0
  #mode: FaultMode = 'multiNode'
  #broken: Period | undefined
  #abandonedMs = 0

  inMode(mode: FaultMode): this {
    this.#mode = mode
    return this
  }

  /** The destination `south` cannot be reached in this period. */
  cannotReachSouth(from: number, to: number): this {
    this.#broken = { from, to }
    return this
  }

  /** The server keeps transactions whose client is gone for so long. */
  keepsAbandoned(ms: number): this {
    this.#abandonedMs = ms
    return this
  }

  /** An event in a transaction of its own, DONE unless its row says otherwise. */
  writes(
    id: string,
    { at = 0, end = 'commit', behaviour = 'succeed', ...more }: ForgedWrite = {},
    row: Partial<StoredRow> = {},
  ): this {
    const tx = `tx of ${id}`
    const { notBefore, key, wroteAt, ...intent } = more
    const event = {
      id,
      behaviour,
      ...(notBefore !== undefined && { notBefore }),
      ...(key !== undefined && { key }),
      ...(wroteAt !== undefined && { wroteAt }),
    }
    this.says('writer', at, {
      kind: 'intent',
      tx,
      rollsBack: false,
      events: [event],
      undone: [],
      repeated: [],
      ...intent,
    })
    if (end !== 'unrecorded') this.says('writer', at + 1, { kind: end, tx })
    if (end !== 'commit') return this
    this.#businessRows.add(tx)
    return this.hasRow(id, { orderingKey: key ?? null, ...row })
  }

  hasRow(id: string, row: Partial<StoredRow> = {}): this {
    this.#rows.set(id, { ...doneRow, eventId: id, ...row })
    return this
  }

  hasBusinessRow(id: string): this {
    this.#businessRows.add(`tx of ${id}`)
    return this
  }

  delivers(event: string, forged: ForgedDelivery): this {
    const {
      by = 'p',
      at,
      until = at + 10,
      token = 1,
      attempt = 1,
      act = 'succeed',
      settled = 'done',
      epoch,
      aborted = act === 'hang' ? at + forgedSettings.hangTimeoutMs : null,
    } = forged
    const delivery = ++this.#deliveries
    const withEpoch = epoch === undefined ? {} : { epoch }
    this.says(by, at, { kind: 'start', delivery, event, token, attempt, ...withEpoch, act })
    if (aborted !== null) this.says(by, aborted, { kind: 'aborted', delivery, event })
    if (until === null) return this
    this.says(by, until, { kind: 'end', delivery, event, act })
    return settled === null ? this : this.settles(event, { by, at: until + 2, token, outcome: settled })
  }

  settles(event: string, { by, at, token, outcome, epoch }: ForgedSettlement): this {
    const refused = outcome === 'refused'
    const withEpoch = epoch === undefined ? {} : { epoch, underLock: true as const }
    const settlements = [{ event, token, outcome: refused ? 'done' : outcome, refused, ...withEpoch }]
    return this.says(by, at + 1, { kind: 'settled', since: at, settlements })
  }

  /** The store refuses the settlement of `by`, which read the row under a lock. */
  refuses(event: string, { by, at }: { by: string; at: number }): this {
    const settlements = [{ event, token: 1, outcome: 'done', refused: true, underLock: true as const }]
    return this.says(by, at + 1, { kind: 'settled', since: at, settlements })
  }

  /** `by` gets the table's lock, and holds it until it gives it up. */
  takesLock(by: string, at: number, token: string, destination = ''): this {
    return this.says(by, at, { kind: 'lockTaken', since: at - 1, destination, token })
  }

  hasHarmedLock(at: number): this {
    return this.says('driver', at, { kind: 'outage', what: 'deleteLock', since: at })
  }

  kills(target: string, at: number): this {
    return this.says('driver', at, { kind: 'fault', fault: 'kill', target })
  }

  stops(target: string, from: number, to: number): this {
    this.says('driver', from, { kind: 'fault', fault: 'stop', target })
    return this.says('driver', to, { kind: 'fault', fault: 'cont', target })
  }

  asksToEnd(target: string, at: number): this {
    return this.says('driver', at, { kind: 'fault', fault: 'restart', target })
  }

  /** Processes that deliver. */
  hasWorkers(...names: readonly string[]): this {
    for (const name of names) this.says(name, 0, { kind: 'ready', delivers: true })
    return this
  }

  /** A process gets a partition at `from`, and gives it up at `until`; null means never. */
  owns(by: string, { from, until = null, epoch = 1, partition = 7, token = by }: ForgedOwnership): this {
    this.says(by, from, { kind: 'gained', since: from - 2, token, partitions: [{ partition, epoch }] })
    return until === null ? this : this.says(by, until, { kind: 'givenUp', token, partitions: [partition] })
  }

  /** An outage of all processes, or of those of a slot. */
  hasOutage(from: number, to: number, slot?: string): this {
    const whom = slot === undefined ? {} : { slot }
    return this.says('driver', to, { kind: 'outage', what: 'a forged outage', since: from, ...whom })
  }

  says(process: string, at: number, record: Unstamped<HistoryRecord>): this {
    this.#history.push({ ...record, process, at })
    return this
  }

  /** Returns the names of the rules that the checker finds broken, each once. */
  brokenRules(): string[] {
    const evidence: Evidence = {
      history: this.#history.toSorted((a, b) => a.at - b.at),
      rows: [...this.#rows.values()],
      businessRows: [...this.#businessRows],
      settings: {
        ...forgedSettings,
        mode: this.#mode,
        abandonedMs: this.#abandonedMs,
        ...(this.#broken !== undefined && { broken: this.#broken }),
      },
      wallClock: forgedWallClock,
    }
    return [...new Set(checkHistory(evidence).map(({ rule }) => rule))]
  }
}

interface ForgedSettlement {
  readonly by: string
  readonly at: number
  readonly token: number
  readonly outcome: string
  readonly epoch?: number
}

interface ForgedOwnership {
  readonly from: number
  readonly until?: number | null
  readonly epoch?: number
  readonly partition?: number
  readonly token?: string
}

type Unstamped<Entry> = Entry extends unknown ? Omit<Entry, 'at' | 'process'> : never

interface ForgedWrite {
  readonly at?: number
  /** How the transaction ended; with `unrecorded` its process died before it recorded the end. */
  readonly end?: TransactionEnd['kind'] | 'unrecorded'
  readonly behaviour?: Behaviour
  readonly notBefore?: number
  readonly key?: string
  readonly wroteAt?: number
  readonly rollsBack?: boolean
  readonly undone?: readonly string[]
  readonly repeated?: readonly { readonly expected: string; readonly answered: string }[]
}

const doneRow: StoredRow = {
  seq: 1,
  eventId: '',
  destination: '',
  eventType: 'Planned',
  aggregateType: 'GLOBAL',
  aggregateId: null,
  tenantId: null,
  orderingKey: null,
  partitionNo: null,
  payload: '{}',
  contentType: null,
  headers: null,
  attempts: 0,
  deliveries: 2,
  losses: 0,
  availableAt: forgedWallClock.from + 1_000,
  occurredAt: forgedWallClock.from + 1_000,
  createdAt: forgedWallClock.from + 1_000,
  lockedBy: null,
  status: EventStatus.DONE,
  doneAt: forgedWallClock.from + 1_000,
  lastError: null,
  lockedUntil: null,
  blockedAt: null,
}
