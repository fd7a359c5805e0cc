import { inDueOrder } from '../../store/due-order.ts'
import type { MemoryRow } from './memory-row.ts'
import { OrderedRows } from './ordered-rows.ts'

/**
 * The rows that no process holds, in due order. Each destination has an order of its own, so that a read for
 * one of them does not pass over the rows of the others.
 */
export class FreeRows {
  readonly #byDestination = new Map<string, OrderedRows>()

  add(row: MemoryRow): void {
    let rows = this.#byDestination.get(row.destination)
    if (rows === undefined) {
      rows = new OrderedRows(({ availableAt }) => availableAt)
      this.#byDestination.set(row.destination, rows)
    }
    rows.add(row)
  }

  delete(row: MemoryRow): void {
    const rows = this.#byDestination.get(row.destination)
    rows?.delete(row)
    if (rows?.isEmpty === true) this.#byDestination.delete(row.destination)
  }

  /**
   * Returns the rows at or behind a place, for one destination or any, in due order. The caller must not add
   * or remove any meanwhile.
   */
  from(time: number, seq: number, destination?: string): Iterable<MemoryRow> {
    if (destination !== undefined) return this.#byDestination.get(destination)?.from(time, seq) ?? []

    const orders = [...this.#byDestination.values()].map((rows) => rows.from(time, seq))
    return orders.length === 1 ? orders[0]! : merged(orders)
  }
}

/** Returns the rows of several orders as one. */
function* merged(orders: readonly Generator<MemoryRow, void>[]): Generator<MemoryRow, void> {
  const heads = orders.flatMap((rows) => {
    const { value: row } = rows.next()
    return row === undefined ? [] : [{ row, rows }]
  })
  while (heads.length > 0) {
    heads.sort((a, b) => inDueOrder(a.row, b.row))
    const first = heads[0]!
    yield first.row
    const { value: next } = first.rows.next()
    if (next === undefined) heads.shift()
    else first.row = next
  }
}
