import type { OutboxStore, Settlement } from '../../packages/sendoff/src/store.ts'
import { type HistoryFile, monotonicMs } from './history/history-file.ts'

/**
 * A store whose answers become part of the history: what was settled and refused,
 * and when an answer took so long that a lease may have run out meanwhile.
 */
export function observedStore<Tx>(
  store: OutboxStore<Tx>,
  history: HistoryFile,
  slowMs: number,
): OutboxStore<Tx> {
  const observed = observeCalls(store, history, slowMs)
  const locks = observeCalls(store.locks, history, slowMs)

  return new Proxy(observed, {
    get(target, name) {
      if (name === 'settle') return settle
      if (name === 'locks') return locks
      return Reflect.get(target, name) as unknown
    },
  })

  async function settle(...request: Parameters<OutboxStore<Tx>['settle']>): Promise<readonly Settlement[]> {
    const since = monotonicMs()
    const refused = await observed.settle(...request)
    const settlements = request[0].map((settlement) => ({
      event: settlement.row.eventId,
      token: settlement.row.deliveries,
      outcome: settlement.outcome.kind,
      refused: refused.includes(settlement),
    }))
    history.say({ kind: 'settled', since, settlements })
    return refused
  }
}

function observeCalls<Target extends object>(target: Target, history: HistoryFile, slowMs: number): Target {
  return new Proxy(target, {
    get(_, name) {
      const member = Reflect.get(target, name) as unknown
      // A transaction takes as long as its work does, which says nothing about the database.
      if (typeof member !== 'function' || name === 'transaction') return bound(member, target)
      return (...args: unknown[]) => {
        const since = monotonicMs()
        const answer = (member as (...args: unknown[]) => unknown).apply(target, args)
        if (answer instanceof Promise) void noteIfSlow(answer, since, String(name))
        return answer
      }
    },
  })

  async function noteIfSlow(answer: Promise<unknown>, since: number, what: string): Promise<void> {
    const failed = await answer.then(
      () => false,
      () => true,
    )
    if ((failed && keepsLeases.has(what)) || monotonicMs() - since >= slowMs) {
      history.say({ kind: 'cutOff', since, what: failed ? `${what} failed` : what })
    }
  }
}

const keepsLeases = new Set(['settle', 'renew', 'acquire'])

function bound(member: unknown, target: object): unknown {
  return typeof member === 'function' ? (member.bind(target) as unknown) : member
}

/** Notes when this process did not run for so long: it was stopped, or the machine was busy. */
export function observeStalls(history: HistoryFile, slowMs: number): void {
  let last = monotonicMs()
  setInterval(() => {
    const now = monotonicMs()
    if (now - last >= slowMs) history.say({ kind: 'cutOff', since: last, what: 'stall' })
    last = now
  }, 20).unref()
}
