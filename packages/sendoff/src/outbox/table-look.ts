import { tallyCounts } from '../admin/overview.ts'
import { countBound, scanWindow } from '../admin/limits.ts'
import type { Clock } from '../clock.ts'
import type { TableState } from '../observe/metrics-source.ts'
import { EventStatus } from '../store/event-status.ts'
import type { OutboxLooks } from '../store/index.ts'

/** For how many milliseconds a look is good. */
const keptMs = 5_000

/** How long a scrape or a probe waits for a look. It must not wait for a database that hangs. */
const patienceMs = 2_000

/**
 * Reads the state of the table for metrics and health, with the looks of operators. It reads only when it is
 * asked, and at most every 5 s.
 */
export class TableLook {
  readonly #looks: OutboxLooks | undefined
  readonly #clock: Clock
  #looking: Promise<TableState | undefined> | undefined
  #last: { readonly state: TableState; readonly at: number } | undefined

  /**
   * The calls of `looks` need a time limit. Over a dead connection, a look would otherwise never end, and all
   * later readers would wait for it in vain.
   */
  constructor(looks: OutboxLooks | undefined, clock: Clock) {
    this.#looks = looks
    this.#clock = clock
  }

  /** Returns the state; undefined if the store has no looks, or does not answer soon. Never rejects. */
  async read(): Promise<TableState | undefined> {
    if (this.#looks === undefined) return undefined
    if (this.#last !== undefined && this.#clock.monotonic() < this.#last.at + keptMs) return this.#last.state
    this.#looking ??= this.#look(this.#looks).finally(() => (this.#looking = undefined))
    return this.#inTime(this.#looking)
  }

  async #look(looks: OutboxLooks): Promise<TableState | undefined> {
    try {
      const state = await readState(looks)
      this.#last = { state, at: this.#clock.monotonic() }
      return state
    } catch {
      return undefined
    }
  }

  #inTime(looking: Promise<TableState | undefined>): Promise<TableState | undefined> {
    const { promise, resolve } = Promise.withResolvers<TableState | undefined>()
    const cancel = this.#clock.schedule(patienceMs, () => resolve(undefined))
    void looking.then((state) => {
      cancel()
      resolve(state)
    })
    return promise
  }
}

async function readState(looks: OutboxLooks): Promise<TableState> {
  const tally = await looks.tally({ bound: countBound })
  const { NEW, RETRY, DONE, DEAD } = tallyCounts(tally)
  const { at, oldestDue, blocked, parked } = tally
  return {
    at,
    lagMs: oldestDue === undefined ? 0 : Math.max(0, at - oldestDue.availableAt),
    rows: { NEW: NEW.count, RETRY: RETRY.count, DONE: DONE.count, DEAD: DEAD.count },
    blocked,
    parked: parked.length,
    oldestDeadMs: DEAD.count === 0 ? undefined : await oldestDeadMs(looks, at),
  }
}

async function oldestDeadMs(looks: OutboxLooks, at: number): Promise<number | undefined> {
  const filter = { status: [EventStatus.DEAD] }
  const { rows } = await looks.scan({ filter, order: 'oldest', limit: 1, window: scanWindow })
  const doneAt = rows[0]?.doneAt ?? undefined
  return doneAt && Math.max(0, at - doneAt)
}
