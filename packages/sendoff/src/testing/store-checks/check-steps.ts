import { deepEqual, equal, ok } from 'node:assert/strict'
import type {
  InsertResult,
  Lease,
  NewRow,
  Outcome,
  OutboxStore,
  OwnerFence,
  PollRequest,
  Row,
  RowId,
  Settlement,
  StoredRow,
  StoreWith,
} from '../../store/index.ts'
import { sampleRow } from './sample-rows.ts'

/** A lease that does not run out during a check unless `ms` says so. */
export function leaseOf(owner: string, ms = 30_000): Lease {
  return { owner, ms }
}

/** Writes rows in one transaction. Those with `claimed` are born leased to `lease`. */
export async function insertRows<Tx>(
  store: OutboxStore<Tx>,
  rows: readonly NewRow[],
  lease = leaseOf('writer'),
): Promise<readonly KnownResult[]> {
  return afterCommit(await store.transaction((tx) => store.insert({ tx, rows, lease })))
}

type KnownResult = Exclude<InsertResult, { readonly kind: 'queued' }>

/** Returns what became of rows whose transaction has committed. */
export function afterCommit(results: readonly InsertResult[]): readonly KnownResult[] {
  return results.map((result) => {
    const known = result.kind === 'queued' ? result.result() : result
    ok(known, 'what became of a row is known after the commit')
    return known
  })
}

/** Writes one sample row and reads it back. */
export async function insertOne<Tx>(
  store: StoreWith<Tx, 'people'>,
  fields: Partial<NewRow> = {},
  lease = leaseOf('writer'),
): Promise<StoredRow> {
  const row = sampleRow(fields)
  await insertRows(store, [row], lease)
  return readRow(store, row)
}

/** Claims up to a hundred rows that are due and free. */
export function claimAll<Tx>(store: OutboxStore<Tx>, owner: string, ms?: number): Promise<readonly Row[]> {
  return store.claim({ lease: leaseOf(owner, ms), limit: 100 })
}

/** Claims the one row that is due and free. */
export async function claimOne<Tx>(store: OutboxStore<Tx>, owner: string, ms?: number): Promise<Row> {
  return only(await claimAll(store, owner, ms))
}

/** Writes one sample row and claims it. */
export async function insertAndClaim<Tx>(
  store: OutboxStore<Tx>,
  owner: string,
  fields: Partial<NewRow> = {},
): Promise<Row> {
  const row = sampleRow(fields)
  await insertRows(store, [row])
  return only(await store.claim({ lease: leaseOf(owner), limit: 1, rows: [row] }))
}

/** The owner that reads without claims in all checks. */
export const pollOwner: OwnerFence = { lock: 'relay', token: 'a' }

/** Reads as the owner of the lock. Fails if the owner has lost it. */
export async function poll<Tx>(
  store: OutboxStore<Tx>,
  request: Partial<PollRequest> = {},
): Promise<readonly Row[]> {
  const rows = await store.pollPending({ owner: pollOwner, limit: 10, held: null, ...request })
  ok(rows, 'the owner lost its lock')
  return rows
}

/**
 * Renews the lock for a short time, and waits until it has run out. Fails if the owner had lost it before.
 */
export async function letRunOut<Tx>(
  store: OutboxStore<Tx>,
  owner: OwnerFence,
  wait: (ms: number) => Promise<void>,
): Promise<void> {
  ok(await store.locks.renew({ ...owner, ttlMs: 20 }), 'the owner lost its lock')
  await wait(30)
}

/** Settles one row. Fails if the store refuses it. */
export async function settleOne<Tx>(
  store: OutboxStore<Tx>,
  row: Row,
  outcome: Outcome,
  owner?: OwnerFence,
): Promise<void> {
  deepEqual(
    await store.settle({ settlements: [{ row, outcome }], owner }),
    [],
    `settlement of ${row.eventId} was refused`,
  )
}

export function doneOf(row: Row): Settlement {
  return { row, outcome: { kind: 'done' } }
}

export async function readRow<Tx>(store: StoreWith<Tx, 'people'>, key: RowId): Promise<StoredRow> {
  const found = await findRow(store, key)
  ok(found, `event ${key.eventId} for destination "${key.destination}" is not in the store`)
  return found
}

export async function findRow<Tx>(
  store: StoreWith<Tx, 'people'>,
  key: RowId,
): Promise<StoredRow | undefined> {
  const rows = await store.people.query({ eventId: key.eventId, limit: 100 })
  return rows.find((row) => row.destination === key.destination)
}

/** Writes one sample row, claims it, settles it and reads it back. */
export async function insertAndSettle<Tx>(
  store: StoreWith<Tx, 'people'>,
  outcome: Outcome,
  fields: Partial<NewRow> = {},
): Promise<StoredRow> {
  const row = await insertAndClaim(store, 'a', fields)
  await settleOne(store, row, outcome)
  return readRow(store, row)
}

/** Replays rows as an operator would, and returns how many there were. */
export async function replay<Tx>(store: StoreWith<Tx, 'actions'>, rows: readonly RowId[]): Promise<number> {
  const ids = rows.map(({ eventId, destination }) => ({ eventId, destination }))
  const audit = { actor: 'Ann', action: 'replay' }
  const answer = await store.actions.run({ action: 'replay', rows: ids, audit })
  return answer.kind === 'ran' ? answer.rows.length : 0
}

/** Returns the time of the store's clock, as stamped on a row that is removed again. */
export async function storeTime<Tx>(store: StoreWith<Tx, 'people'>): Promise<number> {
  const row = await insertOne(store, { claimed: true }, leaseOf('clock'))
  await settleOne(store, row, { kind: 'delete' })
  return row.createdAt
}

/** Fails unless a time lies between two readings of the store's clock, allowing for its rounding. */
export function assertBetween(time: number | null, low: number, high: number): void {
  ok(time !== null && time >= low - 1 && time <= high + 1, `${time} should lie between ${low} and ${high}`)
}

export function only<Item>(items: readonly Item[]): Item {
  equal(items.length, 1, `expected one item, got ${items.length}`)
  return items[0]!
}

export function eventIds(rows: readonly RowId[]): string[] {
  return rows.map((row) => row.eventId)
}

/** Thrown by a check to undo a transaction. */
export class Undo extends Error {
  override readonly name = 'Undo'
}
