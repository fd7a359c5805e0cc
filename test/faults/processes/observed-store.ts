import type {
  OutboxPeople,
  Settlement,
  SettleRequest,
  StoredRow,
  StoreWith,
} from '../../../packages/sendoff/src/store/index.ts'
import { type Clock, systemClock } from '../../../packages/sendoff/src/clock.ts'
import type { ProcessHistory } from '../history/process-history.ts'
import { rowName } from '../history/rows-of-events.ts'
import { observedLocks, observedPartitions } from './observed-partitions.ts'
import type { SilentRenewals } from './silent-renewals.ts'

/**
 * Returns a store whose replies become part of the history: settlements, refusals and owners. It also records
 * when a reply took so long that a lease may have run out meanwhile.
 */
export function observedStore<Tx>(
  store: StoreWith<Tx, 'people'>,
  history: ProcessHistory,
  slowMs: number,
  renewals: Pick<SilentRenewals, 'of'>,
  clock: Clock = systemClock,
): StoreWith<Tx, 'people'> {
  const calls = new ObservedCalls(history, slowMs, clock)
  const observed = renewals.of(calls.of(store))
  const partitions = store.partitions && observedPartitions(calls.of(store.partitions), history)
  const lanes = store.lanes && calls.of(store.lanes)
  const people = observedPeople(calls.of(store.people), history)
  const locks = renewals.of(observedLocks(calls.of(store.locks), history))

  return new Proxy(observed, {
    get(target, name) {
      if (name === 'settle') return settle
      if (name === 'locks') return locks
      if (name === 'partitions') return partitions
      if (name === 'lanes') return lanes
      if (name === 'people') return people
      return Reflect.get(target, name) as unknown
    },
  })

  async function settle(request: SettleRequest): Promise<readonly Settlement[]> {
    const since = history.now()
    const events = request.settlements.map(({ row }) => rowName(row))
    // The engine gives up on it, and a reply may never come.
    const answered = clock.schedule(slowMs * 0.8, () => history.say({ kind: 'unanswered', since, events }))
    try {
      const refused = await observed.settle(request)
      const settlements = request.settlements.map((settlement) => ({
        event: rowName(settlement.row),
        token: settlement.row.deliveries,
        outcome: settlement.outcome.kind,
        refused: refused.includes(settlement),
        ...(settlement.row.lockedBy === null && { underLock: true as const }),
        ...(settlement.row.epoch !== undefined && { epoch: settlement.row.epoch }),
      }))
      history.say({ kind: 'settled', since, settlements })
      return refused
    } catch (error) {
      history.say({ kind: 'unsettled', since, events })
      throw error
    } finally {
      answered()
    }
  }
}

/** Records the rows that the engine reads to learn whether it had settled them. */
function observedPeople(people: OutboxPeople, history: ProcessHistory): OutboxPeople {
  return new Proxy(people, {
    get(target, name) {
      return name === 'query' ? query : (Reflect.get(target, name) as unknown)
    },
  })

  async function query(request: Parameters<OutboxPeople['query']>[0]): Promise<readonly StoredRow[]> {
    const since = history.now()
    const rows = await people.query(request)
    if (request.eventIds !== undefined) {
      const found = rows.map((row) => ({
        event: rowName(row),
        token: row.deliveries,
        status: row.status,
        isFree: row.lockedBy === null && row.losses === 0,
      }))
      history.say({ kind: 'found', since, rows: found })
    }
    return rows
  }
}

const keepsLeases = new Set(['claim', 'settle', 'renew', 'acquire'])

interface ObservedCall {
  readonly what: string
  readonly since: number
}

/** Records slow or failed calls as times in which the process could not rely on its database. */
class ObservedCalls {
  readonly #history: ProcessHistory
  readonly #slowMs: number
  readonly #open = new Set<ObservedCall>()
  #isAway = false

  constructor(history: ProcessHistory, slowMs: number, clock: Clock) {
    this.#history = history
    this.#slowMs = slowMs
    const watch = () => {
      this.#noteOpen()
      clock.schedule(slowMs / 4, watch)
    }
    watch()
  }

  of<Target extends object>(target: Target): Target {
    return new Proxy(target, {
      get: (_, name) => {
        const member = Reflect.get(target, name) as unknown
        // A transaction takes as long as its work does, which says nothing about the database.
        if (typeof member !== 'function' || name === 'transaction') return bound(member, target)
        return (...args: unknown[]) => {
          const call = { what: String(name), since: this.#history.now() }
          const answer = (member as (...args: unknown[]) => unknown).apply(target, args)
          if (answer instanceof Promise) void this.#follow(call, answer)
          return answer
        }
      },
    })
  }

  async #follow(call: ObservedCall, answer: Promise<unknown>): Promise<void> {
    this.#open.add(call)
    const failed = await answer.then(
      () => false,
      () => true,
    )
    if (this.#isAway && !failed) this.#history.say({ kind: 'back' })
    this.#isAway = failed
    // A call that was given up long ago says nothing about now.
    if (!this.#open.delete(call)) return
    if ((failed && keepsLeases.has(call.what)) || this.#history.now() - call.since >= this.#slowMs) {
      this.#note(call, failed ? `${call.what} failed` : call.what)
    }
  }

  // Over a half-open connection a reply may never come. The engine asks again after a lease.
  #noteOpen(): void {
    const now = this.#history.now()
    for (const call of this.#open) {
      if (now - call.since >= this.#slowMs) this.#note(call, `${call.what} still open`)
      if (now - call.since >= 3 * this.#slowMs) this.#open.delete(call)
    }
  }

  #note({ since }: ObservedCall, what: string): void {
    this.#history.say({ kind: 'cutOff', since, what })
  }
}

function bound(member: unknown, target: object): unknown {
  return typeof member === 'function' ? (member.bind(target) as unknown) : member
}

/** Records when this process did not run for so long: it was stopped, or the machine was busy. */
export function observeStalls(history: ProcessHistory, slowMs: number): void {
  let last = history.now()
  setInterval(() => {
    const now = history.now()
    if (now - last >= slowMs) history.say({ kind: 'cutOff', since: last, what: 'stall' })
    last = now
  }, 20).unref()
}
