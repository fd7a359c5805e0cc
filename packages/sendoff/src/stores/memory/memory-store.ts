import { OutboxError } from '../../errors.ts'
import { partitionOfRow } from '../../store/partition-of.ts'
import { EventStatus } from '../../store/event-status.ts'
import { callable, checkOptions } from '../../options.ts'
import type { ClaimRequest, CompleteStore, FailedAttempt, Outcome, Row } from '../../store/index.ts'
import { boundsAround, nextPlace } from '../../store/due-order.ts'
import { insideTransaction, refuseInsideTransaction } from '../inside-transaction.ts'
import { Mutex } from '../mutex.ts'
import { memoryControls } from './memory-controls.ts'
import { MemoryEvents } from './memory-events.ts'
import { insertRows } from './memory-insert.ts'
import { memoryKeys } from './memory-keys.ts'
import { memoryLanes } from './memory-lanes.ts'
import { memoryLocks } from './memory-locks.ts'
import { memoryNodes } from './memory-nodes.ts'
import { memoryPartitions } from './memory-partitions.ts'
import { purgeRows } from './memory-purge.ts'
import { asRow, asStoredRow, keyOf, type MemoryRow } from './memory-row.ts'
import { failedAttempt, replayedFields, settledFields } from './memory-settle.ts'
import { MemoryTx } from './memory-transaction.ts'

export interface MemoryStoreOptions {
  /** Epoch milliseconds: `Date.now` unless told otherwise. */
  readonly now?: () => number
}

/** A store in memory. It leaves out only wake-ups. */
export type MemoryStore = CompleteStore<MemoryTx>

/**
 * Keeps events in the memory of this process, for tests and demonstrations: they end with it.
 * Transactions run one at a time; nothing else ever waits for them.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions('memoryStore', options, { now: callable })

  const clock = options.now ?? Date.now
  const now = () => Math.floor(clock())

  const controls = memoryControls()
  const events = new MemoryEvents((row) => controls.isPaused(row))
  const history = new Map<string, FailedAttempt[]>()
  const locks = memoryLocks(now, (bounds, held) => {
    if (bounds !== null) events.countLosses(bounds)
    events.countLossesOf(held)
  })
  const partitions = memoryPartitions(now, events, locks)
  const transactions = new Mutex()
  let lastSeq = 0

  const settleRow = (row: MemoryRow, outcome: Outcome, time: number): void => {
    if (outcome.kind === 'delete') {
      events.delete(row)
      history.delete(keyOf(row))
      return
    }
    const fields = settledFields(row, outcome, time)
    const attempt = failedAttempt(row, outcome, fields.attempts ?? row.attempts, time)
    if (attempt !== undefined) history.set(keyOf(row), [...(history.get(keyOf(row)) ?? []), attempt])
    events.change(row, fields)
  }

  const leased = (rows: readonly MemoryRow[], { lease, rows: keys }: ClaimRequest, time: number): Row[] =>
    rows.map((row) => {
      // Whoever asks for its own rows by key is their holder and never lost them.
      const isKept = row.lockedBy === null || (keys !== undefined && row.lockedBy === lease.owner)

      events.change(row, {
        lockedBy: lease.owner,
        lockedUntil: Math.ceil(time + lease.ms),
        deliveries: row.deliveries + 1,
        losses: row.losses + (isKept ? 0 : 1),
      })
      return asRow(row)
    })

  return {
    capabilities: { durable: false, multiProcess: false },

    async migrate() {},

    async checkSchema() {},

    async transaction(work, { within } = {}) {
      if (within !== undefined) return within.nested(work)
      refuseInsideTransaction(transactions)
      return transactions.run(() => insideTransaction(transactions, () => new MemoryTx(events).run(work)))
    },

    inTransaction: (tx) => tx instanceof MemoryTx && tx.isOpen,

    async insert({ tx, rows, lease }) {
      if (!(tx instanceof MemoryTx)) throw noTransaction()
      tx.assertOpen()
      return insertRows(tx, rows, lease, now(), () => ++lastSeq)
    },

    async claim(request) {
      const time = now()
      return leased(events.due(request, time), request, time)
    },

    async claimTypes(request) {
      const time = now()
      const { rows, last } = events.dueOfTypes(request, time)
      const next = nextPlace(rows, request.limit, last)
      return { rows: leased(rows, request, time), next }
    },

    async pollPending(request) {
      if (!locks.isOwner(request.owner)) return undefined

      const rows = events.due(request, now()).map(asRow)
      locks.recordBounds(request.owner.lock, boundsAround(request.held, rows))
      const { owner, renewMs } = request
      if (renewMs !== undefined) await locks.renew({ ...owner, ttlMs: renewMs })
      return rows
    },

    async renew({ rows, lease }) {
      const lockedUntil = Math.ceil(now() + lease.ms)

      return rows.filter((held) => {
        const row = held.lockedBy === null ? undefined : events.held(held)
        if (row !== undefined) events.change(row, { lockedUntil })
        return row === undefined
      })
    },

    async release(rows) {
      for (const held of rows) {
        const row = held.lockedBy === null ? undefined : events.held(held)
        if (row !== undefined) events.change(row, { lockedBy: null, lockedUntil: null })
      }
    },

    async settle({ settlements, owner }) {
      const ownerHolds = owner !== undefined && locks.isOwner(owner)
      const time = now()

      return settlements.filter(({ row: held, outcome }) => {
        const row = held.lockedBy === null && !ownerHolds ? undefined : events.held(held)
        if (row === undefined) return true
        if (held.lockedBy === null && held.epoch !== undefined) {
          const partition = { partition: partitionOfRow(row), epoch: held.epoch }
          if (!partitions.isOwner(owner!.token, partition)) return true
        }

        settleRow(row, outcome, time)
        return false
      })
    },

    locks,

    lanes: memoryLanes(now, events, locks, controls),

    partitions,

    orderingKeys: memoryKeys(now, events, controls, settleRow),

    people: {
      async query(filter) {
        return events.matching(filter, filter.limit).map(asStoredRow)
      },

      async count(filter) {
        return events.matching(filter, Infinity).length
      },

      async attempts(row) {
        return [...(history.get(keyOf(row)) ?? [])]
      },

      async replay(rows) {
        const time = now()

        return rows.filter((id) => {
          const row = events.findRow(keyOf(id))
          if (row?.status !== EventStatus.DEAD) return false

          events.change(row, replayedFields(row, time))
          return true
        }).length
      },
    },

    async purge(request) {
      return purgeRows(events, history, request, now())
    },

    controls,

    nodes: memoryNodes(now, controls),

    // The rows stay: whoever has the store may still look at them.
    async close() {},
  }
}

function noTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'A memory store writes only in its own transactions. Pass the tx that its transaction() hands out.',
  )
}
