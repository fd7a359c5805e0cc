import {
  boundsAround,
  EventStatus,
  hasChanged,
  inDueOrder,
  isPending,
  nextPlace,
  storedErrorText,
} from 'sendoff/store'
import type {
  ClaimRequest,
  ClaimTypesAnswer,
  ClaimTypesRequest,
  DuePlace,
  Lease,
  RenewRequest,
} from 'sendoff/store'
import type {
  HeldRow,
  LockRequest,
  Outcome,
  OwnerFence,
  PollRequest,
  Row,
  Settlement,
  SettleRequest,
} from 'sendoff/store'
import { type FileRow, keyOf, type Lock, type State } from './file-store-state.ts'

/** Leases rows that are due and free. */
export function claim(state: State, { rows, lease, limit, ...range }: ClaimRequest, now: number): Row[] {
  const named = rows && new Map(rows.map((row) => [keyOf(row), row]))
  const isOwn = (row: FileRow) => named !== undefined && row.lockedBy === lease.owner
  const isWanted = (row: FileRow) => {
    const wanted = named?.get(keyOf(row))
    if (named === undefined) return isFor(row, range)
    return wanted !== undefined && !hasChanged(row, wanted)
  }

  return dueRows(state, range, now)
    .filter((row) => (isFree(row, now) || isOwn(row)) && isWanted(row))
    .slice(0, limit)
    .map((row) => take(row, { lease, now, isLoss: row.lockedBy !== null && !isOwn(row) }))
}

/** Leases rows of some types among the first `window` that are due and free. */
export function claimTypes(state: State, request: ClaimTypesRequest, now: number): ClaimTypesAnswer {
  const { types, window, lease, limit } = request
  if (limit === 0) return { rows: [], next: undefined }

  const isOfType = (row: Row) =>
    types?.some(
      ({ aggregateType, eventType }) => row.aggregateType === aggregateType && row.eventType === eventType,
    ) ?? true
  const isWanted = (row: Row) => isFor(row, request) && isOfType(row)
  const examined = freeRows(state, request, now).slice(0, window)
  const wanted = examined.filter(isWanted).slice(0, limit)
  const rows = wanted.map((row) => take(row, { lease, now, isLoss: row.lockedBy !== null }))
  return { rows, next: nextPlace(rows, limit, examined.length === window ? examined.at(-1) : undefined) }
}

/** Extends leases, and returns the rows that were lost. */
export function renew(state: State, { rows, lease }: RenewRequest, now: number): HeldRow[] {
  return rows.filter((row) => {
    const held = row.lockedBy === null ? undefined : findHeld(state, row)
    if (held) held.lockedUntil = Math.ceil(now + lease.ms)
    return !held
  })
}

/** Frees leased rows. */
export function release(state: State, rows: readonly HeldRow[]): void {
  for (const row of rows) {
    const held = findHeld(state, row)
    if (held) held.lockedBy = held.lockedUntil = null
  }
}

/** Records outcomes, and returns the settlements that were refused. */
export function settle(state: State, { settlements, owner }: SettleRequest, now: number): Settlement[] {
  const hasLock = owner !== undefined && lockOf(state, owner, now) !== undefined

  return settlements.filter(({ row, outcome }) => {
    const held = row.lockedBy !== null || hasLock ? findHeld(state, row) : undefined
    if (held) settleRow(state, held, outcome, now)
    return !held
  })
}

/** Takes a lock. In a takeover it counts a loss for each row that the vanished owner held. */
export function acquireLock(state: State, request: LockRequest, now: number): boolean {
  const { lock: name, token, ttlMs } = request
  const lock = state.locks.get(name)
  const isOwn = lock?.token === token
  if (lock && !isOwn && lock.until > now) return false

  if (lock && !isOwn) countLosses(state, lock, request)
  state.locks.set(name, { token, until: Math.ceil(now + ttlMs), bounds: isOwn ? lock.bounds : null })
  return true
}

/** Extends a lock, unless it was lost. */
export function renewLock(state: State, { ttlMs, ...owner }: LockRequest, now: number): boolean {
  const lock = lockOf(state, owner, now)
  if (lock) lock.until = Math.ceil(now + ttlMs)
  return lock !== undefined
}

/** Releases a lock. */
export function releaseLock(state: State, { lock, token }: OwnerFence): void {
  if (state.locks.get(lock)?.token === token) state.locks.delete(lock)
}

/** Reads rows for the owner of a lock, and records in the lock which rows the owner holds then. */
export function pollPending(state: State, request: PollRequest, now: number): Row[] | undefined {
  const { owner, limit, held, renewMs } = request
  const lock = lockOf(state, owner, now)
  if (!lock) return undefined

  const rows = freeRows(state, request, now)
    .filter((row) => isFor(row, request))
    .slice(0, limit)
  lock.bounds = boundsAround(held, rows)
  if (renewMs !== undefined) lock.until = Math.ceil(now + renewMs)
  return rows.map(asRow)
}

/** Whether a row is for the destination that a request names, if it names one. */
function isFor(row: Row, { destination }: { readonly destination?: string }): boolean {
  return destination === undefined || row.destination === destination
}

type Range = { readonly from?: DuePlace; readonly skipRecentMs?: number }

function dueRows(state: State, { from, skipRecentMs = 0 }: Range, now: number): FileRow[] {
  return [...state.rows.values()]
    .filter((row) => isPending(row.status) && row.blockedAt === null && row.availableAt <= now)
    .filter((row) => row.createdAt <= now - skipRecentMs && (!from || inDueOrder(row, from) >= 0))
    .sort(inDueOrder)
}

function freeRows(state: State, range: Range, now: number): FileRow[] {
  return dueRows(state, range, now).filter((row) => isFree(row, now))
}

function isFree({ lockedBy, lockedUntil }: FileRow, now: number): boolean {
  return lockedBy === null || lockedUntil === null || lockedUntil <= now
}

type Taking = { readonly lease: Lease; readonly now: number; readonly isLoss: boolean }

function take(row: FileRow, { lease, now, isLoss }: Taking): Row {
  row.lockedBy = lease.owner
  row.lockedUntil = Math.ceil(now + lease.ms)
  row.deliveries += 1
  if (isLoss) row.losses += 1
  return asRow(row)
}

function asRow(stored: FileRow): Row {
  const { status, doneAt, lastError, lockedUntil, blockedAt, ...row } = stored
  return structuredClone(row)
}

function findHeld(state: State, row: HeldRow): FileRow | undefined {
  const stored = state.rows.get(keyOf(row))
  if (!stored || !isPending(stored.status)) return undefined
  return stored.deliveries === row.deliveries && stored.lockedBy === row.lockedBy ? stored : undefined
}

function settleRow(state: State, row: FileRow, outcome: Outcome, now: number): void {
  const key = keyOf(row)
  if (outcome.kind === 'delete') {
    state.rows.delete(key)
    state.failures.delete(key)
    return
  }

  const failure = 'failure' in outcome ? outcome.failure : undefined
  const attempts = row.attempts + (failure?.counted ? 1 : 0)
  if (failure) {
    const failed = { attempts, failedAt: now, error: storedErrorText(failure.error), lockedBy: row.lockedBy }
    state.failures.set(key, [...(state.failures.get(key) ?? []), failed])
  }

  const freed = { lockedBy: null, lockedUntil: null, blockedAt: null, doneAt: null, losses: 0 }
  state.rows.set(key, {
    ...row,
    ...freed,
    attempts,
    deliveries: row.deliveries + 1,
    ...changesBy(outcome, now),
  })
}

function changesBy(outcome: Outcome, now: number): Partial<FileRow> {
  switch (outcome.kind) {
    case 'retry':
      return {
        status: EventStatus.RETRY,
        availableAt: Math.ceil(now + outcome.delayMs),
        ...error(outcome.failure.error),
      }
    case 'defer':
      return {
        status: EventStatus.NEW,
        availableAt: Math.ceil(now + outcome.delayMs),
        ...error(outcome.reason),
      }
    case 'block':
      return { blockedAt: now, ...error(outcome.failure.error) }
    case 'dead':
      return { status: EventStatus.DEAD, doneAt: now, ...error(outcome.failure.error) }
    default:
      return { status: EventStatus.DONE, doneAt: now, lastError: null }
  }
}

function error(text: string | undefined): Partial<FileRow> {
  return text === undefined ? {} : { lastError: storedErrorText(text) }
}

function lockOf(state: State, { lock: name, token }: OwnerFence, now: number): Lock | undefined {
  const lock = state.locks.get(name)
  return lock?.token === token && lock.until > now ? lock : undefined
}

function countLosses(state: State, { bounds }: Lock, request: LockRequest): void {
  for (const row of state.rows.values()) {
    const isWithin =
      bounds && inDueOrder(row, bounds.low) >= 0 && inDueOrder(row, bounds.high) <= 0 && isFor(row, request)
    if (!isWithin || !isPending(row.status) || row.blockedAt !== null || row.lockedBy !== null) continue
    row.losses += 1
    row.deliveries += 1
  }
}
