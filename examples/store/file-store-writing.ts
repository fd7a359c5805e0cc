import { duplicateEventId, EventStatus, type InsertRequest, type InsertResult } from 'sendoff/store'
import { type Lease, type NewRow, OutboxError, type OutboxWriting } from 'sendoff/store'
import {
  type FileRow,
  keyOf,
  oneAtATime,
  type State,
  type StateFile,
  type UsedKey,
} from './file-store-state.ts'

/** A transaction, or a part of one. Its writes reach the state only when the whole transaction commits. */
export class FileTx {
  readonly outer: FileTx | undefined
  readonly written: Written
  readonly partInTurn = oneAtATime()
  openParts = 0
  status: 'open' | 'kept' | 'undone' = 'open'

  constructor(outer?: FileTx) {
    this.outer = outer
    this.written = outer?.written ?? { rows: new Map(), usedKeys: new Map() }
  }

  get isOpen(): boolean {
    return this.status === 'open' && (this.outer?.isOpen ?? true)
  }

  get isUndone(): boolean {
    return this.status === 'undone' || (this.outer?.isUndone ?? false)
  }
}

type By<Value> = { readonly value: Value; readonly by: FileTx }

/** The writes of a transaction and its parts so far, including parts that were undone. */
interface Written {
  readonly rows: Map<string, By<FileRow>>
  readonly usedKeys: Map<string, By<UsedKey>>
}

type Work<Result> = (tx: FileTx) => Promise<Result>

/** The writing part of the store. Transactions run one at a time, and hold up no other calls. */
export function writing(file: StateFile): OutboxWriting<FileTx> {
  const inTurn = oneAtATime()
  let lastSeq = 0

  const nextSeq = (state: State) => (lastSeq = Math.max(lastSeq, state.lastSeq) + 1)

  const runAndCommit = async <Result>(work: Work<Result>) => {
    const tx = new FileTx()
    const result = await runIn(tx, work)
    await file.change((state) => commit(state, tx))
    return result
  }

  return {
    transaction: async (work, { within } = {}) =>
      within === undefined ? inTurn(() => runAndCommit(work)) : runPart(requireOpen(within), work),
    inTransaction: (tx) => tx instanceof FileTx && tx.isOpen,
    insert: (request) =>
      file.read((state, now) => insert(state, request, { now, seq: () => nextSeq(state) })),
  }
}

async function runPart<Result>(outer: FileTx, work: Work<Result>): Promise<Result> {
  outer.openParts += 1
  try {
    return await outer.partInTurn(() => runIn(new FileTx(requireOpen(outer)), work))
  } finally {
    outer.openParts -= 1
  }
}

async function runIn<Result>(tx: FileTx, work: Work<Result>): Promise<Result> {
  try {
    const result = await work(tx)
    if (tx.openParts > 0) throw ended('A part of the transaction was still open at its end. Await it.')
    requireOpen(tx).status = 'kept'
    return result
  } catch (error) {
    tx.status = 'undone'
    throw error
  }
}

function requireOpen(tx: FileTx): FileTx {
  if (!(tx instanceof FileTx))
    throw new OutboxError('OUTBOX_NO_TRANSACTION', 'This is no transaction of a file store.')
  if (!tx.isOpen) throw ended('The transaction has ended. Await everything before its callback returns.')
  return tx
}

function ended(message: string): OutboxError {
  return new OutboxError('OUTBOX_TRANSACTION_ENDED', message)
}

function commit(state: State, { written }: FileTx): void {
  for (const [key, { value, by }] of written.usedKeys) if (!by.isUndone) state.usedKeys.set(key, value)
  for (const [key, { value, by }] of written.rows) {
    if (by.isUndone) continue
    state.rows.set(key, value)
    state.lastSeq = Math.max(state.lastSeq, value.seq)
  }
}

type Moment = { readonly now: number; readonly seq: () => number }

function insert(
  state: State,
  { tx, rows, lease }: InsertRequest<FileTx>,
  { now, seq }: Moment,
): InsertResult[] {
  const { written } = requireOpen(tx)
  const newRows = new Map<string, FileRow>()
  const newKeys = new Map<string, UsedKey>()

  const results = rows.map((row): InsertResult => {
    const { eventId, idempotencyKey } = row
    if (idempotencyKey !== null) {
      const earlier = state.usedKeys.get(idempotencyKey) ?? kept(written.usedKeys.get(idempotencyKey))
      const used = earlier ?? newKeys.get(idempotencyKey) ?? { eventId, usedAt: now }
      if (used === earlier || used.eventId !== eventId) return { kind: 'duplicate', eventId: used.eventId }
      newKeys.set(idempotencyKey, used)
    }

    const key = keyOf(row)
    if (state.rows.has(key) || kept(written.rows.get(key)) || newRows.has(key)) throw duplicateEventId(row)
    const added = { seq: seq(), ...newRow(row, now, lease) }
    newRows.set(key, added)
    return { kind: 'inserted', seq: added.seq, deliveries: added.deliveries, certain: true }
  })

  for (const [key, value] of newRows) written.rows.set(key, { value, by: tx })
  for (const [key, value] of newKeys) written.usedKeys.set(key, { value, by: tx })
  return results
}

function kept<Value>(entry: By<Value> | undefined): Value | undefined {
  return entry?.by.isUndone ? undefined : entry?.value
}

function newRow(row: NewRow, now: number, givenLease: Lease | undefined): Omit<FileRow, 'seq'> {
  const { due, idempotencyKey, claimed, hasNewId, ...event } = row
  const lease = claimed ? givenLease : undefined
  return {
    ...event,
    payload: typeof row.payload === 'string' ? row.payload : new Uint8Array(row.payload),
    attempts: 0,
    deliveries: lease ? 1 : 0,
    losses: 0,
    availableAt: 'at' in due ? due.at : Math.ceil(now + due.inMs),
    createdAt: now,
    lockedBy: lease?.owner ?? null,
    lockedUntil: lease ? Math.ceil(now + lease.ms) : null,
    status: EventStatus.NEW,
    doneAt: null,
    lastError: null,
    blockedAt: null,
  }
}
