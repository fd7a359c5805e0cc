/**
 * A shop that confirms orders by mail: `node examples/mail/mail.ts [FOLDER]`. It writes the mail in the
 * transaction of the order. A worker sends it to an SMTP server that puts it off at first. The program writes
 * the received mail to FOLDER as a page.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createTransport } from 'nodemailer'
import { MailOutbox, MailOutboxWorker, mailRetries, nodemailerTransport } from 'sendoff/mail'
import { sqliteStore } from 'sendoff/sqlite'
import { type Order, orderConfirmation } from './order-confirmation.ts'
import { receivedPage } from './received-page.ts'
import { SmtpInbox } from './smtp-inbox.ts'

const folder = process.argv[2]
const data = await mkdtemp(join(tmpdir(), 'sendoff-mail-'))
const file = join(data, 'shop.db')
new DatabaseSync(file).exec('create table orders (id text primary key, total real)')

const inbox = await SmtpInbox.start({ puttingOff: 1 })
const transporter = createTransport({ pool: true, host: '127.0.0.1', port: inbox.port })
const mail = new MailOutbox({
  store: sqliteStore({ open: () => new DatabaseSync(file), table: 'mail_outbox' }),
  render: (_template, order) => orderConfirmation(order as Order),
})
const worker = await new MailOutboxWorker({
  outbox: mail,
  transports: { default: nodemailerTransport({ transporter }) },
  // Short, because an example should not take a minute.
  retryPolicy: mailRetries(5, [100]),
}).start()

async function placeOrder(order: Order): Promise<void> {
  const total = order.lines.reduce((sum, { price }) => sum + price, 0)
  await mail.transaction(async (tx) => {
    tx.prepare('insert into orders (id, total) values (?, ?)').run(order.id, total)
    const message = { from: 'The Tea Shop <orders@tea.example>', to: order.customer, template: 'order' }
    await mail.enqueue({ ...message, data: order }, { idempotencyKey: `confirm-${order.id}` })
    if (total > 1_000) throw new Error('That is too much tea.')
  })
}

const ada = { name: 'Ada Lovelace', address: 'ada@example.com' }
await placeOrder({
  id: 'o-1001',
  customer: ada,
  lines: [
    { item: 'Darjeeling First Flush, 100 g', price: 12.5 },
    { item: 'Genmaicha <organic>, 250 g', price: 9.8 },
    { item: 'A pot, blue', price: 24 },
  ],
})
await placeOrder({ id: 'o-1002', customer: ada, lines: [{ item: 'A ton of tea', price: 9_000 }] }).catch(
  (error: Error) => console.log(`o-1002 was rolled back: ${error.message}`),
)

const received = await inbox.next()
await worker.close()
await mail.close()
transporter.close()
await inbox.close()
await rm(data, { recursive: true, force: true })

if (folder !== undefined) {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'received-mail.html'), receivedPage(received))
}
console.log(`put off=${inbox.putOff} received=${inbox.received} subject=${received.subject}`)
