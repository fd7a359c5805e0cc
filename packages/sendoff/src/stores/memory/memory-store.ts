import { OutboxError } from '../../errors.ts'
import { callable, checkOptions } from '../../options.ts'
import type { CompleteStore } from '../../store/index.ts'
import { insideTransaction, refuseInsideTransaction } from '../inside-transaction.ts'
import { Mutex } from '../mutex.ts'
import { claimRows, claimRowsOfTypes } from './claim-rows.ts'
import { releaseRows, renewRows } from './held-rows.ts'
import { insertRows } from './insert-rows.ts'
import { memoryActions } from './memory-actions.ts'
import { MemoryAudit } from './memory-audit.ts'
import { memoryControls } from './memory-controls.ts'
import { MemoryEvents } from './memory-events.ts'
import { memoryInbox } from './memory-inbox.ts'
import { memoryLanes } from './memory-lanes.ts'
import { memoryLocks } from './memory-locks.ts'
import { memoryLooks } from './memory-looks.ts'
import { type MemoryNodes, memoryNodes } from './memory-nodes.ts'
import { memoryOrderingKeys } from './memory-ordering-keys.ts'
import { memoryPartitions } from './memory-partitions.ts'
import { memoryPeople } from './memory-people.ts'
import { memoryReports } from './memory-reports.ts'
import { memoryRouting } from './memory-routing.ts'
import { MemoryTx } from './memory-transaction.ts'
import { pollPending } from './poll-pending.ts'
import { purgeRows } from './purge-rows.ts'
import { type MemoryHistory, settleRows } from './settle-rows.ts'

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** The clock: returns epoch milliseconds. Default: `Date.now`. */
  readonly now?: () => number
}

/** A store in memory. It has all parts except wake-ups. */
export type MemoryStore = CompleteStore<MemoryTx>

/**
 * Makes a store that keeps events in the memory of this process, for tests and demonstrations. The events are
 * gone when the process ends. Transactions run one at a time; no other call waits for them.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions('memoryStore', options, { now: callable })

  const clock = options.now ?? Date.now
  const now = () => Math.floor(clock())

  const audit = new MemoryAudit(now)
  const controls = memoryControls(audit)
  const events = new MemoryEvents((row) => controls.isPaused(row))
  const history: MemoryHistory = new Map()
  const locks = memoryLocks(now, (bounds, held, destination) => {
    if (bounds !== null) events.countLosses(bounds, destination)
    events.countLossesOf(held)
  })
  const partitions = memoryPartitions(now, events, locks)
  const settleParts = { events, history, locks, partitions }
  const nodes: MemoryNodes = new Map()
  const routing = memoryRouting()
  const transactions = new Mutex()
  let lastSeq = 0
  const nextSeq = () => ++lastSeq

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
      return insertRows(tx, rows, lease, now(), nextSeq)
    },

    claim: async (request) => claimRows(events, request, now()),
    claimTypes: async (request) => claimRowsOfTypes(events, request, now()),
    renew: async (request) => renewRows(events, request, now()),
    release: async (rows) => releaseRows(events, rows),
    settle: async (request) => settleRows(settleParts, request, now()),

    locks,
    pollPending: (request) => pollPending(now, events, locks, request),

    lanes: memoryLanes(now, events, locks, controls),
    partitions,
    orderingKeys: memoryOrderingKeys(now, events, controls, history, audit),
    people: memoryPeople(events, history),
    looks: memoryLooks(now, events, controls),
    actions: memoryActions({ now, events, history, locks, audit }),
    controls,
    routing,
    nodes: memoryNodes(now, controls, routing, nodes),
    reports: memoryReports(now, nodes),
    inbox: memoryInbox(now, events),
    purge: async (request) => purgeRows(events, history, request, now()),

    // The rows stay: a caller that still holds the store can read them.
    async close() {},
  }
}

function noTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'A memory store writes only in its own transactions. Pass the tx that its transaction() hands out.',
  )
}
