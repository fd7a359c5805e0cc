import { DatabaseSync } from 'node:sqlite'
import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Get,
  Injectable,
  Post,
} from '@nestjs/common'
import { InjectOutbox } from '@sendoff/nestjs'
import type { EventWriter } from 'sendoff'
import { type Order, OrderPlaced } from './order-placed.ts'

/** Adds orders, each with its event. */
@Injectable()
export class Orders {
  readonly #events: EventWriter<DatabaseSync>

  constructor(@InjectOutbox() events: EventWriter<DatabaseSync>) {
    this.#events = events
  }

  /** Adds an order and its event, or neither. */
  async place(order: Order): Promise<void> {
    await this.#events.transaction(async (tx) => {
      await this.#events.write(OrderPlaced, order)
      // The event is written before this can fail: the rollback removes it, too.
      const added = tx.prepare('insert or ignore into orders values (?, ?)').run(order.id, order.total)
      if (added.changes === 0) throw new ConflictException(`Order ${order.id} is placed already.`)
    })
  }
}

/** The shop by HTTP. */
@Controller('orders')
export class OrdersController {
  readonly #orders: Orders
  readonly #database: DatabaseSync

  constructor(orders: Orders, database: DatabaseSync) {
    this.#orders = orders
    this.#database = database
  }

  @Post()
  async place(@Body() { id, total }: Partial<Order>): Promise<{ readonly placed: string }> {
    if (typeof id !== 'string' || typeof total !== 'number') {
      throw new BadRequestException('An order has an id and a total.')
    }
    await this.#orders.place({ id, total })
    return { placed: id }
  }

  @Get()
  list(): unknown[] {
    const sql = 'select orders.id, total, carrier from orders left join shipments using (id) order by id'
    return this.#database.prepare(sql).all()
  }
}
