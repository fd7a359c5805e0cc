import { type PauseTarget, type StoreWith, type WakeUp } from '../../../packages/sendoff/src/store/index.ts'
import type { ProcessCalls } from '../world/process-calls.ts'
import type { SimulatedDatabase } from './simulated-database.ts'
import { claimRows, claimRowsOfTypes } from './statements/claim-statements.ts'
import { changeHeld } from './statements/held-statements.ts'
import { lockKeys, readLanes, readOneLane } from './statements/lane-statements.ts'
import { acquireLock, holdRows, pollPending, releaseLock, renewLock } from './statements/lock-statements.ts'
import { joinNode, pausedTargets } from './statements/node-statements.ts'
import {
  acquirePartitions,
  lookAtShares,
  readShares,
  releasePartitions,
} from './statements/partition-statements.ts'
import { countRows, queryRows } from './statements/people-statements.ts'
import { settleRows } from './statements/settle-statements.ts'
import { insertRows } from './statements/write-statements.ts'
import type { DatabaseTransaction } from './transaction.ts'

/** A transaction in the hands of the code that writes. */
export interface SimulatedTx {
  readonly tx: DatabaseTransaction
}

/** The store of a simulated process. */
export type SimulatedStore = StoreWith<
  SimulatedTx,
  'people' | 'lanes' | 'partitions' | 'controls' | 'routing' | 'wakeUps'
>

/** Returns a store on the simulated database, whose calls go through the network of one process. */
export function simulatedStore(db: SimulatedDatabase, calls: ProcessCalls): SimulatedStore {
  const store: SimulatedStore = {
    capabilities: { durable: true, multiProcess: true },

    async transaction(work, options = {}) {
      const { within } = options
      return within === undefined ? wholeTransaction(work) : partOf(within, work)
    },
    refusedCommit: (error) => error instanceof Error && error.message === refusal,
    inTransaction: ({ tx }) => tx.state === 'open',
    insert: ({ tx: { tx }, ...request }) =>
      calls.inside(tx, 'insert', (inner) => insertRows(db, inner, request)),

    claim: (request) => calls.call('claim', (tx) => claimRows(db, tx, request)),
    claimTypes: (request) => calls.call('claimTypes', (tx) => claimRowsOfTypes(db, tx, request)),
    renew: ({ rows, lease }) =>
      calls.call('renew', (tx) => changeHeld(db, tx, rows, () => ({ lockedUntil: db.timeIn(lease.ms) }))),
    release: async (rows) => {
      const leased = rows.filter(({ lockedBy }) => lockedBy !== null)
      if (leased.length === 0) return
      const free = { lockedBy: null, lockedUntil: null }
      await calls.call('release', (tx) => changeHeld(db, tx, leased, () => free))
    },
    settle: (request) => calls.call('settle', (tx) => settleRows(db, tx, request)),
    pollPending: (request) => calls.call('pollPending', (tx) => pollPending(db, tx, request)),

    locks: {
      acquire: (request) => calls.call('acquireLock', (tx) => acquireLock(db, tx, request)),
      renew: (request) => calls.call('renewLock', (tx) => renewLock(db, tx, request)),
      release: (fence) => calls.call('releaseLock', (tx) => releaseLock(db, tx, fence)),
    },
    lanes: {
      lock: ({ tx: { tx }, keys }) => calls.inside(tx, 'lockKeys', (inner) => lockKeys(db, inner, { keys })),
      read: (request) => calls.call('readLanes', (tx) => readLanes(db, tx, request)),
      readAll: (request) => calls.call('readAll', (tx) => readOneLane(db, tx, request)),
      hold: ({ owner, rows }) =>
        calls.call('hold', (tx) => holdRows(db, tx, owner, rows), { isUncertain: isParticipant(owner.lock) }),
    },
    partitions: {
      look: () => calls.call('look', () => lookAtShares(db)),
      shares: (owner) => calls.call('shares', (tx) => readShares(db, tx, owner)),
      acquire: (request) => calls.call('acquirePartitions', (tx) => acquirePartitions(db, tx, request)),
      release: (request) => calls.call('releasePartitions', (tx) => releasePartitions(db, tx, request)),
    },
    nodes: {
      join: (node) => calls.call('join', (tx) => joinNode(db, tx, node)),
      leave: (id) => calls.now('leave', () => void db.nodes.delete(id)),
    },
    controls: {
      pause: (target) => calls.now('pause', () => void db.paused.set(nameOf(target), target)),
      resume: (target) => calls.now('resume', () => void db.paused.delete(nameOf(target))),
      paused: () => calls.now('paused', () => pausedTargets(db)),
    },
    routing: {
      publish: (routing) =>
        calls.now('publishRouting', () => {
          if (db.routing === null || db.routing.version < routing.version) db.routing = routing
          return db.routing
        }),
      current: () => calls.now('routing', () => db.routing),
    },
    people: {
      query: (filter) => calls.call('query', () => queryRows(db, filter)),
      count: (filter) => calls.call('count', () => countRows(db, filter)),
      attempts: ({ eventId, destination }) =>
        calls.now('attempts', () => db.attempts.get(`${eventId}/${destination}`) ?? []),
    },
    wakeUps: {
      async listen(callback) {
        const heard = (wakeUp: WakeUp) => calls.signal(() => callback(wakeUp))
        await calls.now('listen', () => void db.listeners.add(heard))
        return () => calls.now('unlisten', () => void db.listeners.delete(heard))
      },
      announce: (wakeUp = {}) =>
        calls.now('announce', () => {
          for (const listener of db.listeners) listener(wakeUp)
        }),
    },

    migrate: async () => {},
    checkSchema: async () => {},
    ping: () => calls.now('ping', () => {}),
    dropSilent: (silentMs) => calls.dropSilent(silentMs),
    close: async () => {},
  }
  return store

  async function wholeTransaction<Result>(work: (tx: SimulatedTx) => Promise<Result>): Promise<Result> {
    const tx = await calls.begin()
    const handle = { tx }
    let result: Result
    try {
      result = await work(handle)
    } catch (error) {
      await calls.end(tx, 'rollback').catch(() => {})
      throw error
    }
    await calls.end(tx, 'commit')
    return result
  }

  async function partOf<Result>(
    { tx }: SimulatedTx,
    work: (tx: SimulatedTx) => Promise<Result>,
  ): Promise<Result> {
    const before = tx.savepoint()
    try {
      return await work({ tx })
    } catch (error) {
      tx.undoTo(before)
      throw error
    }
  }
}

/** The message of an error that proves that the server rolled a transaction back. */
export const refusal = 'The server rolled the transaction back.'

function isParticipant(lock: string): boolean {
  return lock.startsWith('partitions/')
}

function nameOf(target: PauseTarget): string {
  return 'eventType' in target ? `type ${target.eventType}` : `destination ${target.destination}`
}
