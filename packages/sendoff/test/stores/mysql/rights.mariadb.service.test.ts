import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import type mysql from 'mysql2/promise'
import { isOnMysql } from '../../../../../test/services/servers/mysql/on-mysql.ts'
import { Inbox } from '../../../src/inbox/index.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { SignalMetrics } from '../../fixtures/signal-metrics.ts'
import { MysqlDatabase } from './mysql-database.ts'

const page = readFileSync(new URL('../../../../../docs/mysql.md', import.meta.url), 'utf8')
const grantsOfBoth = /^## Rights$.*?^```sql\n(.*?)^```/ms.exec(page)![1]!
const grantsOfMysql = /^## Rights$.*?^On MySQL.*?^```sql\n(.*?)^```/ms.exec(page)![1]!
const grants = isOnMysql ? `${grantsOfBoth}${grantsOfMysql}` : grantsOfBoth
const notPermitted = { errno: 1142 }

describe('mysql store: users with the rights that the page grants them', () => {
  let database: MysqlDatabase
  let admin: mysql.Pool
  let tables = 0
  const users: string[] = []

  before(async () => {
    database = await MysqlDatabase.create('rights')
    admin = database.mysql2Pool({ multipleStatements: true })
  })
  after(async () => {
    for (const user of users) await admin.query(`drop user ${user}`)
    await database.drop()
  })

  it('one that may create, read, insert and update migrates', async () => {
    const user = await newUser('migrator')
    await admin.query(`grant create, alter, select, insert, update on ${database.name}.* to ${user}`)
    const client = database.mysql2Pool({ user, password: 'secret' })
    await mysqlStore({ client, table: 'migrated' }).migrate()
    await mysqlStore({ client, table: 'migrated' }).migrate()
  })

  it('a worker delivers, with every preset', async () => {
    const { clients, table } = await withUsers()
    for (const preset of ['multiNode', 'singleNode', 'singleWriter', 'ordered', 'partitioned'] as const) {
      const metrics = new SignalMetrics()
      let failing = true
      const outbox = await Outbox[preset]({
        store: mysqlStore({ client: clients.worker, table }),
        listeners: new ListenerRegistry()
          .register('Good', () => {})
          .register('Bad', () => {
            if (failing) throw new Error('no')
          }),
        maxAttempts: 1,
        purge: { retentionMs: 1, deadRetentionMs: 60_000 },
        poller: { intervalMs: 100 },
        migrate: false,
        logger: false,
        metrics,
      }).start()
      await outbox.transaction(async () => {
        await outbox.write('Good', 1, { idempotencyKey: preset, orderingKey: 'a' })
        await outbox.write('Good', 1, { idempotencyKey: preset, orderingKey: 'a' })
        await outbox.write('Bad', 1, { orderingKey: 'b' })
      })
      await metrics.until((seen) => seen.dispatchSuccess === 1 && seen.dispatchDead === 1)
      await outbox.pause({ eventType: 'Other' })
      await outbox.resume({ eventType: 'Other' })
      failing = false
      equal(await outbox.deadEvents.replayAll(), 1, preset)
      await metrics.until((seen) => seen.dispatchSuccess === 2)
      await outbox.close()
    }
  })

  it('a writer writes, also in order, and can do nothing else', async () => {
    const { clients, table, store } = await withUsers()
    const worker = Outbox.partitioned({
      store: mysqlStore({ client: clients.worker, table }),
      listeners: new ListenerRegistry(),
      migrate: false,
      logger: false,
    })
    await worker.start()
    const outbox = await Outbox.writerOnly({
      store: mysqlStore({ client: clients.writer, table }),
      migrate: false,
      logger: false,
    }).start()
    await worker.close()
    await outbox.transaction(async () => {
      await outbox.write('E', 1, { eventId: 'e-1', orderingKey: 'a' })
      await outbox.write('E', 1, { idempotencyKey: 'k' })
      await outbox.write('E', 1, { idempotencyKey: 'k' })
      await rejects(outbox.write('E', 1, { eventId: 'e-1' }), { code: 'OUTBOX_DUPLICATE_EVENT_ID' })
    })
    const inbox = new Inbox({ outbox, consumer: 'billing' })
    equal(await inbox.process('m-1', () => outbox.write('E', 1)), 'processed')
    equal(await inbox.process('m-1', () => {}, { wait: false }), 'duplicate')
    equal(await inbox.purge(), 0)
    await outbox.close()

    equal(await store.people.count({}), 3)
    await rejects(clients.writer.query(`update ${table} set status = 1`), notPermitted)
  })

  it('a reader reads', async () => {
    const { clients, table } = await withUsers()
    const reading = mysqlStore({ client: clients.reader, table })
    equal(await reading.people.count({}), 0)
    deepEqual(await reading.people.query({ limit: 5 }), [])
    deepEqual(await reading.people.attempts({ eventId: 'e', destination: '' }), [])
    deepEqual(await reading.controls.paused(), [])
    deepEqual(await reading.reports.living(), [])
    deepEqual(await reading.reports.statistics({ lastMs: 60_000, limit: 5 }), [])
    await reading.checkSchema()
    await rejects(clients.reader.query(`delete from ${table}`), notPermitted)
  })

  it('a worker on a table in parts purges row by row, and says in time that it may not make parts', async () => {
    const { clients, table, store } = await withUsers({ partitionBy: 'day' })
    const partitioned = mysqlStore({ client: clients.worker, table, partitionBy: 'day' })
    await partitioned.checkSchema()
    deepEqual(await partitioned.upkeep!(), [])
    await partitioned.purge({ doneOlderThanMs: 60_000, limit: 10 })
    const [rows] = await admin.query<mysql.RowDataPacket[]>(
      `select partition_name as name from information_schema.partitions
        where table_schema = database() and table_name = ? order by partition_ordinal_position`,
      [table],
    )
    const beyondToday = rows.slice(1, -2).map(({ name }) => String(name))
    await admin.query(`alter table ${table} drop partition ${beyondToday.join()}`)
    const [warning] = await partitioned.upkeep!()
    match(warning!, /end at 20.*may not make new ones.*store\.migrate\(\) at least once a day/)
    await store.migrate()
    deepEqual(await partitioned.upkeep!(), [])
  })

  it('the owner of a table in parts makes and drops them with the rights that the page adds', async () => {
    const { clients, users: named, table } = await withUsers({ partitionBy: 'day' })
    await admin.query(`grant alter, drop on ${table} to ${named.worker}`)
    await admin.query(`grant create, lock tables on ${database.name}.* to ${named.worker}`)
    const store = mysqlStore({ client: clients.worker, table, partitionBy: 'day' })
    const [rows] = await admin.query<mysql.RowDataPacket[]>(
      `select partition_name as name from information_schema.partitions
        where table_schema = database() and table_name = ? order by partition_ordinal_position`,
      [table],
    )
    await admin.query(`alter table ${table} drop partition ${rows.at(-3)!['name']}`)
    deepEqual(await store.upkeep!(), [])
    await store.purge({ doneOlderThanMs: 60_000, limit: 10 })
  })

  async function newUser(kind: string): Promise<string> {
    const user = `${kind}_${process.pid}_${tables}`
    await admin.query(`create user ${user} identified by 'secret'`)
    users.push(user)
    return user
  }

  async function withUsers(options: { partitionBy?: 'day' } = {}) {
    const table = `events_${(tables += 1)}`
    const store = mysqlStore({ client: admin, table, ...options })
    await store.migrate()
    let sql = grants.replaceAll('shop.outbox_event', `${database.name}.${table}`)
    const named: Record<string, string> = {}
    const clients: Record<string, mysql.Pool> = {}
    for (const kind of ['worker', 'writer', 'reader']) {
      const user = await newUser(kind)
      named[kind] = user
      sql = sql.replaceAll(`shop_${kind}`, user)
      clients[kind] = database.mysql2Pool({ user, password: 'secret' })
    }
    await admin.query(sql)
    return {
      table,
      store,
      users: named,
      clients: clients as Record<'worker' | 'writer' | 'reader', mysql.Pool>,
    }
  }
})
