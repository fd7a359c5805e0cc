import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Opens the shop's database: the orders, and beside them the outbox. */
export function openShop(folder: string): DatabaseSync {
  return new DatabaseSync(join(folder, 'shop.db'))
}

/** Opens the shipping company's database: another system, which cannot be part of the shop's transactions. */
export function openShipping(folder: string): DatabaseSync {
  const shipping = new DatabaseSync(join(folder, 'shipping.db'))
  // A commit survives the end of a process, and the demo ends only processes.
  shipping.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma busy_timeout = 5000')
  return shipping
}

/** Creates the business tables. The outbox creates its own when it starts. */
export function createTables(folder: string): void {
  const shop = openShop(folder)
  shop.exec(`
    create table orders (
      id        text primary key,
      channel   text not null,
      total     real not null,
      placed_at integer not null
    )`)
  shop.close()

  const shipping = openShipping(folder)
  shipping.exec(`
    create table shipments (
      event_id   text primary key,
      order_id   text not null,
      booked_at  integer not null,
      deliveries integer not null default 1
    )`)
  shipping.close()
}
