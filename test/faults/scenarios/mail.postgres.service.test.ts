import { deepEqual, equal, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'pg'
import { EventStatus } from 'sendoff'
import { MailOutbox } from 'sendoff/mail'
import { postgresStore } from 'sendoff/postgres'
import { type ReceivedMail, TestSmtpServer } from '../../../packages/sendoff/test/mail/smtp-server.ts'
import { ProcessGroup } from '../../services/processes/process-group.ts'
import { scale, testSeed } from '../run/scale.ts'
import { SeededRandom } from '../run/seeded-random.ts'

const { mails, kills } = scale({ small: { mails: 200, kills: 6 }, full: { mails: 2_000, kills: 60 } })
const workerCount = 4

describe('workers of a mail outbox that are killed at random', () => {
  it('lose no mail, and send one twice only if they died between its acceptance and its mark', async (test) => {
    const seed = testSeed()
    const random = new SeededRandom(seed)
    test.diagnostic(`SENDOFF_TEST_SEED=${seed}`)
    const url = process.env['POSTGRES_URL']!
    const table = `mail_kills_${process.pid}`
    const pool = new Pool({ connectionString: url, max: 10 })
    const mail = new MailOutbox({ store: postgresStore({ client: pool, table }) })
    await mail.initSchema()

    const fleet = new Fleet(() => [url, table, String(smtp.port)])
    const killAt = new Set(
      Array.from({ length: kills }, (_, index) => Math.floor(((index + random.next()) * mails) / kills)),
    )
    const sentAfterMark: string[] = []
    let arrivals = 0
    const smtp = await TestSmtpServer.start(test, {
      async onContent(received) {
        if ((await mail.find(idOf(received)))!.state === 'SENT') sentAfterMark.push(idOf(received))
        if (killAt.delete(arrivals++)) await killSomebody(received.client)
        return undefined
      },
    })

    // Kills the worker before the reply or around the mark, or another worker.
    async function killSomebody(client: string): Promise<void> {
      const moment = random.pick(['before', 'around', 'other'] as const)
      const name = moment === 'other' ? random.pick(fleet.names) : client
      if (moment === 'before') fleet.kill(name)
      else void delay(random.between(0, 8)).then(() => fleet.kill(name))
    }

    try {
      await mail.transaction(async () => {
        for (let number = 0; number < mails; number++) {
          const to = `customer-${number}@example.com`
          await mail.enqueue({ from: 'post@sendoff.example', to, subject: `Mail ${number}`, text: 'Hello' })
        }
      })
      await fleet.start(workerCount)
      const pending = { status: [EventStatus.NEW, EventStatus.RETRY] }
      while ((await mail.store.people!.count(pending)) > 0) await delay(50)
      await fleet.stop()

      equal(await mail.store.people!.count({ status: [EventStatus.DONE] }), mails)
      const copies = Map.groupBy(smtp.received, ({ parsed }) => parsed.subject)
      equal(copies.size, mails)
      equal(killAt.size, 0)
      deepEqual(sentAfterMark, [])
      const repeated = [...copies.values()].filter((each) => each.length > 1)
      for (const each of copies.values()) equal(new Set(each.map(idOf)).size, 1)
      for (const each of repeated) {
        for (const { client } of each.slice(0, -1)) ok(fleet.killed.has(client), `${client} was not killed`)
      }
      const lost = Map.groupBy(
        repeated.flatMap((each) => each.slice(0, -1)),
        ({ client }) => client,
      )
      for (const [client, mailsOf] of lost) ok(mailsOf.length <= 3, `${client} has doubled ${mailsOf.length}`)
      test.diagnostic(`mails=${mails} kills=${fleet.killed.size} sent twice=${repeated.length}`)
    } finally {
      await fleet.stop()
      await mail.close()
      await pool.query(`drop table if exists ${await tablesOf(pool, table)} cascade`)
      await pool.end()
    }
  })
})

/** Worker processes. When one is killed, another one follows. */
class Fleet {
  readonly killed = new Set<string>()
  readonly #args: () => readonly string[]
  readonly #running = new Map<string, ProcessGroup>()
  #started = 0
  #isStopping = false

  constructor(args: () => readonly string[]) {
    this.#args = args
  }

  get names(): readonly string[] {
    return [...this.#running.keys()]
  }

  async start(count: number): Promise<void> {
    const groups = Array.from({ length: count }, () => this.#launch())
    await Promise.all(groups.map((group) => Promise.race([group.untilOutput(/ready/), group.ended])))
  }

  kill(name: string): void {
    const group = this.#running.get(name)
    if (group === undefined || this.#isStopping) return
    this.#running.delete(name)
    this.killed.add(name)
    group.signal('SIGKILL')
    this.#launch()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#running.values()].map((group) => group.stop('SIGTERM', 20_000)))
    this.#running.clear()
  }

  #launch(): ProcessGroup {
    const name = `worker-${++this.#started}`
    const script = join(import.meta.dirname, '../processes/mail-worker-process.ts')
    const group = new ProcessGroup(process.execPath, [script, ...this.#args(), name], {
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    })
    this.#running.set(name, group)
    return group
  }
}

function idOf({ parsed }: ReceivedMail): string {
  return /^<(.+)@/.exec(parsed.messageId ?? '')?.[1] ?? ''
}

async function tablesOf(pool: Pool, prefix: string): Promise<string> {
  const sql = 'select tablename from pg_tables where starts_with(tablename, $1)'
  const { rows } = await pool.query<{ tablename: string }>(sql, [prefix])
  return rows.map(({ tablename }) => `"${tablename}"`).join()
}
