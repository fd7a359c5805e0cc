import type { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { EventStatus } from 'sendoff'
import { type OutboxAdmin, outboxAdmin } from 'sendoff/admin'
import { type SqliteStore, sqliteStore } from 'sendoff/sqlite'
import { openShop } from './databases.ts'
import type { Channel } from './place-order.ts'

/** How many events are where, at one moment. */
export interface PipelineFigures {
  /** Committed orders. */
  readonly written: number
  /** Events that no worker holds. */
  readonly waiting: number
  /** Events that a worker holds, or one that died a moment ago. */
  readonly inFlight: number
  /** Orders with a shipment. */
  readonly delivered: number
}

export interface Account {
  readonly written: number
  readonly delivered: number
  /** Committed orders without a shipment. */
  readonly lost: number
  /** Shipments for orders that were never committed. */
  readonly unfounded: number
  readonly redelivered: number
}

/**
 * Reads the state of the pipeline from outside: every figure comes from the databases, none from the
 * processes.
 */
export class Pipeline {
  readonly #store: SqliteStore<DatabaseSync>
  readonly #shop: DatabaseSync

  private constructor(folder: string) {
    this.#store = sqliteStore({ open: () => openShop(folder) })
    this.#shop = openShop(folder)
    this.#shop.exec('pragma busy_timeout = 5000')
    this.#shop.prepare('attach database ? as shipping').run(join(folder, 'shipping.db'))
  }

  /** Opens the pipeline, and creates the outbox's tables if no process has done so yet. */
  static async open(folder: string): Promise<Pipeline> {
    const pipeline = new Pipeline(folder)
    await pipeline.#store.migrate()
    return pipeline
  }

  async look(): Promise<PipelineFigures> {
    const pending = await this.#pending()
    const inFlight = pending.filter((row) => row.lockedUntil !== null && row.lockedUntil > Date.now()).length
    const { written, delivered } = this.account()
    return { written, waiting: pending.length - inFlight, inFlight, delivered }
  }

  /** Returns an admin of the shop's outbox, for the dashboard. */
  get admin(): OutboxAdmin<DatabaseSync> {
    return outboxAdmin({ store: this.#store })
  }

  /** Returns how many undelivered events this worker was the last to hold. */
  async heldBy(worker: string): Promise<number> {
    const pending = await this.#pending()
    return pending.filter((row) => row.lockedBy?.startsWith(worker)).length
  }

  account(): Account {
    return this.#shop
      .prepare(
        `select (select count(*) from orders) as written,
                (select count(*) from shipping.shipments) as delivered,
                (select count(*) from orders where id not in (select order_id from shipping.shipments)) as lost,
                (select count(*) from shipping.shipments where order_id not in (select id from orders)) as unfounded,
                (select coalesce(sum(deliveries - 1), 0) from shipping.shipments) as redelivered`,
      )
      .get() as unknown as Account
  }

  /** Returns how long the orders of one channel waited for their shipment. */
  deliveryTimes(channel: Channel): { readonly count: number; readonly medianMs: number } {
    const times = this.#shop
      .prepare(
        `select booked_at - placed_at as ms
           from orders join shipping.shipments on order_id = id
          where channel = ?
          order by ms`,
      )
      .all(channel) as { ms: number }[]
    return { count: times.length, medianMs: times[Math.floor(times.length / 2)]?.ms ?? 0 }
  }

  async close(): Promise<void> {
    this.#shop.close()
    await this.#store.close()
  }

  #pending() {
    return this.#store.people.query({ status: [EventStatus.NEW, EventStatus.RETRY], limit: 100_000 })
  }
}
