// A process that sends mails: `node mail-worker-process.ts URL TABLE PORT NAME`. It ends when it is asked to,
// or killed.
import { createTransport } from 'nodemailer'
import { Pool } from 'pg'
import { MailOutbox, MailOutboxWorker, nodemailerTransport } from 'sendoff/mail'
import { postgresStore } from 'sendoff/postgres'
import { mailLeaseMs } from './mail-lease.ts'

const [url, table, port, name] = process.argv.slice(2) as [string, string, string, string]

const pool = new Pool({ connectionString: url, max: 3 })
const transporter = createTransport({ pool: true, host: '127.0.0.1', port: Number(port), name })
const mail = new MailOutbox({ store: postgresStore({ client: pool, table }) })
const worker = new MailOutboxWorker({
  outbox: mail,
  transports: { default: nodemailerTransport({ transporter }) },
  workerCount: 3,
  batchSize: 10,
  intervalMs: 250,
  leaseMs: mailLeaseMs,
  ownerId: name,
})
await worker.start()

process.once('SIGTERM', () => {
  void worker
    .close()
    .then(() => mail.close())
    .then(() => transporter.close())
    .then(() => pool.end())
})
process.stdout.write('ready\n')
