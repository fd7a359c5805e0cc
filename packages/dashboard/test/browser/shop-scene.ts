import { defineEvent, fixedDelay, ListenerRegistry, Outbox, type RoutingOptions, silentLogger } from 'sendoff'
import { outboxAdmin } from 'sendoff/admin'
import { MailOutbox } from 'sendoff/mail'
import type { CompleteStore } from 'sendoff/store'
import { serveDashboard, type ServeDashboardOptions, type ServedDashboard } from '../../src/index.ts'

/** A database in which the scene plays. */
export interface SceneDatabase {
  /** Opens a store with tables of this name. */
  readonly open: (table: string) => CompleteStore<never>
  /** Reads rows by SQL, past all code that is tested. */
  readonly query: (sql: string) => Promise<readonly Record<string, unknown>[]>
  readonly close: () => Promise<void>
}

/** A shop with three outboxes, and the dashboard that shows them. */
export interface ShopScene {
  readonly url: string
  readonly query: SceneDatabase['query']
  /** The id of an order that went to three destinations, each with another fate. */
  readonly orderId: string
  /** Lets the payments run until their first one blocks its key, again. */
  readonly blockPayment: () => Promise<void>
  readonly close: () => Promise<void>
}

const OrderPlaced = defineEvent('OrderPlaced', { aggregateType: 'Order' })
const OrderCancelled = defineEvent('OrderCancelled', { aggregateType: 'Order' })

const routing: RoutingOptions = {
  version: 3,
  destinations: {
    kafka: {},
    mail: { maxAttempts: 1 },
    partners: { maxAttempts: 2, retry: fixedDelay(1) },
  },
  rules: [{ to: ['kafka', 'mail', 'partners'] }],
}

/** Scene settings. */
export interface SceneOptions {
  /** How many orders fail to be mailed. */
  readonly dead: number
  readonly dashboard?: Partial<ServeDashboardOptions>
}

/**
 * Plays the scene: mails of orders die because the mail server is away, a customer's payments are blocked by
 * one that cannot be booked, and a few mails wait.
 */
export async function playShop(
  database: SceneDatabase,
  { dead, dashboard }: SceneOptions,
): Promise<ShopScene> {
  const orderId = await placeOrders(database.open('orders_outbox'), dead)
  await bookPayments(database.open('payments_outbox'))
  await writeMails(database.open('mail_outbox'))

  // An outbox closes its store, so the dashboard has stores of its own.
  const stores = {
    orders: database.open('orders_outbox'),
    payments: database.open('payments_outbox'),
    mails: database.open('mail_outbox'),
  }
  const served: ServedDashboard = await serveDashboard({
    admins: Object.fromEntries(Object.entries(stores).map(([name, store]) => [name, outboxAdmin({ store })])),
    actor: 'ann@example.com',
    traceUrl: 'https://traces.example.com/trace/{traceId}',
    refreshMs: 250,
    ...dashboard,
  })
  return {
    url: served.url,
    query: database.query,
    orderId,
    blockPayment: () => bookPayments(database.open('payments_outbox'), []),
    async close() {
      await served.close()
      for (const store of Object.values(stores)) await store.close?.()
      await database.close()
    },
  }
}

const mailDown = Object.assign(new Error('connect ECONNREFUSED 10.0.4.17:587'), { name: 'ConnectionError' })

async function placeOrders(store: CompleteStore<never>, dead: number): Promise<string> {
  const listeners = new ListenerRegistry()
    .registerDefault(() => {}, { destination: 'kafka' })
    .registerDefault(() => Promise.reject(mailDown), { destination: 'mail' })
    .registerDefault(
      ({ eventType }) => (eventType === OrderCancelled.name ? Promise.reject(partnerError()) : undefined),
      { destination: 'partners' },
    )
  const outbox = Outbox.multiNode({ store, routing, listeners, logger: silentLogger, ownerId: 'shop-1' })
  await outbox.start()
  const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tenant: 'north' }
  const order = (number: number) => ({
    orderId: `o-${number}`,
    customer: { name: 'Ada Lovelace', address: '12 St James Square' },
    items: [{ sku: 'TEA-100', count: 2, price: 12.5 }],
    reference: (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON('9007199254740993'),
    isGift: false,
  })
  const fields = (number: number): object => ({
    aggregateId: `o-${number}`,
    headers,
    orderingKey: `customer-${number % 7}`,
  })
  const ids = await outbox.transaction(() =>
    outbox.writeAll(
      Array.from({ length: dead }, (_, number) => ({
        type: OrderPlaced,
        payload: order(number),
        fields: fields(number),
      })) as never,
    ),
  )
  const cancelled = await outbox.transaction(() =>
    outbox.write(OrderCancelled, { orderId: 'o-3' }, fields(3)),
  )
  await untilSettled(outbox, store)
  await outbox.close()
  return cancelled ?? ids[0]
}

function partnerError(): Error {
  return Object.assign(new Error('partner 4711 answered 422: order o-3 is unknown'), { name: 'HttpError' })
}

async function bookPayments(
  store: CompleteStore<never>,
  amounts: readonly number[] = [10, -5, 20, 30],
): Promise<void> {
  const outbox = Outbox.partitioned({
    store,
    logger: silentLogger,
    onKeyFailure: 'block',
    maxAttempts: 1,
    ownerId: 'bank-1',
  })
  outbox.on('PaymentTaken', ({ payload }) => {
    if ((payload as { amount: number }).amount < 0) throw new RangeError('amount -5 is below zero')
  })
  await outbox.start()
  for (const amount of amounts) {
    await outbox.transaction(() =>
      outbox.write('PaymentTaken', { amount }, { orderingKey: 'customer-17', aggregateId: 'p-17' } as never),
    )
  }
  for (;;) {
    const [key] = await store.orderingKeys.blocked({ limit: 1 })
    if (key?.head?.blockedAt != null) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await outbox.close()
}

async function writeMails(store: CompleteStore<never>): Promise<void> {
  const outbox = new MailOutbox({ store, logger: silentLogger })
  await outbox.initSchema()
  await outbox.transaction(async () => {
    await outbox.enqueue({
      from: 'The Tea Shop <orders@tea.example>',
      to: 'Ada Lovelace <ada@example.com>',
      subject: 'Your order o-1',
      html: '<div style="font-family:Georgia,serif;padding:24px"><h1 style="color:#2c5f2d">Thank you, Ada</h1><p>Your order <b>o-1</b> is on its way.</p><table><tr><td>Earl Grey, 100 g</td><td style="padding-left:24px">2 × 12.50</td></tr></table></div>',
    })
    await outbox.enqueue({
      from: 'orders@tea.example',
      to: ['bob@example.com', 'eve@example.com'],
      subject: 'Your invoice',
      text: 'Please find your invoice attached.\n\nThe Tea Shop',
    })
  })
}

/** Resolves when every event has its fate: delivered, or dead. */
async function untilSettled(
  outbox: { drain(): Promise<unknown> },
  store: CompleteStore<never>,
): Promise<void> {
  for (;;) {
    await outbox.drain()
    if ((await store.people.count({ status: [0, 2] })) === 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
