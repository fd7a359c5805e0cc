import { EventStatus, isPending } from '../../../packages/sendoff/src/store/event-status.ts'
import {
  type Bounds,
  type FailedAttempt,
  type FencedRow,
  type PauseTarget,
  type RowId,
  type StoredRouting,
  type StoredRow,
  type WakeUp,
} from '../../../packages/sendoff/src/store/index.ts'
import { partitionCount } from '../../../packages/sendoff/src/store/partition-of.ts'
import type { VirtualTime } from '../world/virtual-time.ts'
import { Cell } from './cell.ts'
import { DatabaseTransaction, type Program } from './transaction.ts'

/** A row of the table of locks. */
export interface LockRow {
  readonly token: string
  readonly until: number
  readonly bounds: Bounds | null
  readonly held: readonly FencedRow[]
}

/** A row of the table of partitions. */
export interface PartitionRow {
  readonly owner: string | null
  readonly epoch: number
}

/** A row of the table of processes. */
export interface NodeRow {
  readonly mode: string | null
  readonly until: number
}

/** A row of the table of idempotency keys. */
export interface KeyRow {
  readonly eventId: string
}

/** How a statement ended. */
export type Outcome<Result> = { readonly value: Result } | { readonly error: Error }

/** Settings of one run of a statement. */
export interface ExecutionOptions {
  /** The transaction that the statement is part of. Without one, the statement commits by itself. */
  readonly tx?: DatabaseTransaction
  /** How long the statement stands still once, while it holds what it has locked by then, in ms. */
  readonly stallMs?: number
  /** Whether the server ends the statement before it commits. */
  readonly isCut?: boolean
  /** Whether a crash may lose the commit of this statement. */
  readonly isUncertain?: boolean
}

interface Execution {
  readonly tx: DatabaseTransaction
  abort(error: Error): void
}

/** The server writes a commit that did not wait for the disk after this many ms. */
const writtenLaterMs = 600

/** Epoch ms at which every simulated world begins. */
export const beginOfTime = Date.UTC(2026, 0, 1)

/**
 * A database that does what real ones do to an outbox. Statements run in steps beside each other, on a
 * snapshot of what was committed when they began. They wait for rows that others have locked, and then see
 * the newest state of these rows, but of no others. A transaction that began first may commit last.
 */
export class SimulatedDatabase {
  readonly events = new Map<string, Cell<StoredRow>>()
  readonly attempts = new Map<string, FailedAttempt[]>()
  readonly partitions = Array.from(
    { length: partitionCount },
    () => new Cell<PartitionRow>({ owner: null, epoch: 0 }),
  )
  readonly businessRows: string[] = []
  readonly paused = new Map<string, PauseTarget>()
  readonly locks = new Map<string, Cell<LockRow>>()
  readonly nodes = new Map<string, NodeRow>()
  readonly listeners = new Set<(wakeUp: WakeUp) => void>()
  lastMode: string | null = null
  routing: StoredRouting | null = null
  readonly #time: VirtualTime
  /** How long a step of a statement takes, in ms. */
  readonly #stepMs: (actor: string) => number
  readonly #pending = new Set<Cell<StoredRow>>()
  /** The pending rows in each order that was asked for since one of them changed. */
  readonly #inOrder = new Map<RowOrder, PendingRow[]>()
  readonly #keys = new Map<string, Cell<KeyRow>>()
  readonly #advisory = new Map<string, Cell<never>>()
  readonly #running = new Set<Execution>()
  readonly #open = new Set<DatabaseTransaction>()
  /** The states before commits that a crash may still lose. */
  #uncertain: (() => void)[] = []
  #seq = 0
  #isDown = false

  constructor(time: VirtualTime, stepMs: (actor: string) => number) {
    this.#time = time
    this.#stepMs = stepMs
  }

  /** The clock of the database, in epoch ms. */
  now(): number {
    return beginOfTime + this.#time.now
  }

  /** The time in `ms` milliseconds, as a row can hold it. */
  timeIn(ms: number): number {
    return Math.floor(this.now() + Math.ceil(ms))
  }

  get isDown(): boolean {
    return this.#isDown
  }

  nextSeq(): number {
    return ++this.#seq
  }

  /** Returns the pending rows, committed until now, in the order of time or of writing. */
  pending(order: RowOrder): readonly PendingRow[] {
    let rows = this.#inOrder.get(order)
    if (rows === undefined) {
      rows = Array.from(this.#pending, (cell) => ({ cell, row: cell.committed! }))
      rows.sort((a, b) => order(a.row, b.row))
      this.#inOrder.set(order, rows)
    }
    return rows
  }

  get hasPending(): boolean {
    return this.#pending.size > 0
  }

  /** Whether rows wait for a commit, such as one that is still on its way to the server. */
  get hasUncommitted(): boolean {
    for (const tx of this.#open) if (tx.hasWritten) return true
    return false
  }

  lockCell(name: string): Cell<LockRow> {
    return cellOf(this.locks, name)
  }

  keyCell(key: string): Cell<KeyRow> {
    return cellOf(this.#keys, key)
  }

  /** Something to lock that is no row, such as an ordering key. */
  advisoryCell(name: string): Cell<never> {
    return cellOf(this.#advisory, name)
  }

  eventCell({ eventId, destination }: RowId): Cell<StoredRow> {
    return cellOf(this.events, `${eventId}/${destination}`)
  }

  /** Changes an event's row. Others see it, and find it, after the commit. */
  writeEvent(tx: DatabaseTransaction, cell: Cell<StoredRow>, row: StoredRow | undefined): void {
    tx.write(cell, row)
    tx.onCommit(() => this.#indexed(cell))
  }

  isPaused({ eventType, destination }: StoredRow): boolean {
    return this.paused.has(`type ${eventType}`) || this.paused.has(`destination ${destination}`)
  }

  begin(name: string): DatabaseTransaction {
    const tx = new DatabaseTransaction(name)
    this.#open.add(tx)
    return tx
  }

  commit(tx: DatabaseTransaction): void {
    this.#open.delete(tx)
    tx.commit()
    // What is on disk now includes everything that was committed before.
    this.#uncertain = []
  }

  rollback(tx: DatabaseTransaction): void {
    this.#open.delete(tx)
    for (const execution of [...this.#running]) {
      if (execution.tx === tx) execution.abort(new Error('Its transaction has ended.'))
    }
    tx.rollback()
  }

  /** Begins a statement, and calls back when it has ended. */
  execute<Result>(
    actor: string,
    body: (tx: DatabaseTransaction) => Program<Result>,
    done: (outcome: Outcome<Result>) => void,
    options: ExecutionOptions = {},
  ): void {
    if (this.#isDown) return done({ error: connectionLost('The database is down.') })
    const { tx = new DatabaseTransaction(actor), isCut = false, isUncertain = false } = options
    const isOwn = options.tx === undefined
    if (tx.state !== 'open') return done({ error: new Error(`${tx.name} has ended.`) })
    const program = body(tx)
    let { stallMs = 0 } = options
    let isOver = false

    const end = (outcome: Outcome<Result>) => {
      if (isOver) return
      isOver = true
      tx.waitsFor = undefined
      this.#running.delete(execution)
      if ('error' in outcome) program.return(undefined as never)
      if (isOwn && 'error' in outcome) tx.rollback()
      done(outcome)
    }
    const execution: Execution = { tx, abort: (error) => end({ error }) }
    const step = () => {
      if (isOver) return
      tx.waitsFor = undefined
      try {
        const { done: isDone, value } = program.next()
        if (!isDone) return waitFor(value)
        if (isCut) return end({ error: connectionLost('The server ended the connection.') })
        if (isOwn) this.#commitOwn(tx, isUncertain)
        end({ value })
      } catch (error) {
        end({ error: error as Error })
      }
    }
    const waitFor = (value: 'pause' | { readonly cell: Cell<any> }) => {
      if (value === 'pause') {
        this.#time.schedule(this.#stepMs(actor) + stallMs, step)
        stallMs = 0
        return
      }
      tx.waitsFor = value.cell
      if (tx.isInCircle) return end({ error: new Error('deadlock detected') })
      value.cell.waiters.add(() => this.#time.schedule(this.#stepMs(actor), step))
    }
    this.#running.add(execution)
    step()
  }

  /** Ends the server at once: everything that is not committed is undone, and perhaps a little more. */
  crash(losesUncertain: boolean): void {
    this.#isDown = true
    for (const execution of [...this.#running]) execution.abort(connectionLost('The server has ended.'))
    for (const tx of [...this.#open]) this.rollback(tx)
    if (losesUncertain) this.#uncertain.toReversed().forEach((undo) => undo())
    this.#inOrder.clear()
    this.#uncertain = []
  }

  /** Starts the server again. */
  restart(): void {
    this.#isDown = false
  }

  #commitOwn(tx: DatabaseTransaction, isUncertain: boolean): void {
    if (tx.state !== 'open') return
    if (!isUncertain) {
      tx.commit()
      if (tx.hasWritten) this.#uncertain = []
      return
    }
    const before = [...tx.locked].map((cell) => [cell, cell.committed] as const)
    tx.commit()
    const undo = () => before.forEach(([cell, value]) => (cell.committed = value))
    this.#uncertain.push(undo)
    this.#time.schedule(
      writtenLaterMs,
      () => (this.#uncertain = this.#uncertain.filter((each) => each !== undo)),
    )
  }

  #indexed(cell: Cell<StoredRow>): void {
    this.#inOrder.clear()
    const row = cell.committed
    if (row !== undefined && isPending(row.status)) this.#pending.add(cell)
    else this.#pending.delete(cell)
  }
}

/** Compares rows by the time of their insert, for sorting. */
export function inWriteOrder(a: StoredRow, b: StoredRow): number {
  return a.seq - b.seq
}

type RowOrder = (a: StoredRow, b: StoredRow) => number

/** A pending row, and the place that holds it. */
interface PendingRow {
  readonly cell: Cell<StoredRow>
  readonly row: StoredRow
}

/** The error of a call whose connection is gone. */
export function connectionLost(message: string): Error {
  return Object.assign(new Error(message), { code: 'ECONNRESET' })
}

/** Returns whether a row has ended for good. */
export function hasEnded({ status }: StoredRow): boolean {
  return status === EventStatus.DONE || status === EventStatus.DEAD
}

function cellOf<Value>(cells: Map<string, Cell<Value>>, name: string): Cell<Value> {
  let cell = cells.get(name)
  if (cell === undefined) cells.set(name, (cell = new Cell()))
  return cell
}
