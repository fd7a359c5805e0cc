import { DatabaseSync } from 'node:sqlite'
import { Injectable, Logger } from '@nestjs/common'
import { OutboxFallback, OutboxListener, OutboxRetryable } from '@sendoff/nestjs'
import { type DispatchContext, type EventEnvelope, fixedDelay } from 'sendoff'
import { type Order, OrderPlaced } from './order-placed.ts'

/** Books a shipment for every order. The carrier is busy at the first attempt, and takes no free orders. */
@Injectable()
export class Shipping {
  readonly #log = new Logger(Shipping.name)
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  @OutboxListener(OrderPlaced)
  @OutboxRetryable(fixedDelay(50, { maxAttempts: 2 }))
  book(event: EventEnvelope<Order>, { attempt }: DispatchContext): void {
    const { id, total } = event.payload
    if (attempt === 1) throw new Error('The carrier is busy.')
    if (total === 0) throw new Error('The carrier takes no free orders.')
    this.#ship(id, 'carrier')
  }

  @OutboxFallback(OrderPlaced)
  byMessenger(event: EventEnvelope<Order>): void {
    this.#ship(event.payload.id, 'messenger')
  }

  // An event may come twice, after a crash: the second delivery changes nothing.
  #ship(id: string, carrier: string): void {
    this.#database.prepare('insert or ignore into shipments values (?, ?)').run(id, carrier)
    this.#log.log(`Order ${id} goes by ${carrier}.`)
  }
}
