import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { faultProxy } from '../../../../test/services/proxy/fault-proxy.ts'
import { Inbox } from '../../src/inbox/index.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { newSchema } from '../stores/postgres/test-store.ts'

describe('an inbox on PostgreSQL whose connection is lost', () => {
  it('with the answer to a commit, recognises the message when it comes again', async (test) => {
    const { inbox, proxy, effect, effects } = await openInbox(test)
    const lost = proxy.loseNextAnswerTo('COMMIT', 'COMMIT')
    await rejects(inbox.process('m-1', effect), { code: 'OUTBOX_COMMIT_UNKNOWN' })
    await lost
    equal(await inbox.process('m-1', effect), 'duplicate')
    deepEqual(await effects(), ['m-1'])
  })

  it('before the commit, processes the message when it comes again', async (test) => {
    const { inbox, proxy, effect, effects } = await openInbox(test)
    const cut = inbox.process('m-1', async (tx) => {
      await effect(tx)
      proxy.cut()
    })
    await rejects(cut)
    // The pool may have other connections that were cut: then the message comes once more.
    const again = (): Promise<string> => inbox.process('m-1', effect).catch(again)
    equal(await again(), 'processed')
    deepEqual(await effects(), ['m-1'])
  })
})

async function openInbox(test: TestContext) {
  const { schema, pool, newPool } = await newSchema(test)
  const proxy = await faultProxy(process.env['POSTGRES_URL']!)
  test.after(() => proxy.close())
  const client = newPool({ connectionString: proxy.url })
  const outbox = await Outbox.writerOnly({ store: postgresStore({ client, schema }), logger: false }).start()
  test.after(() => outbox.close())
  await pool.query(`create table "${schema}".effects (id text)`)
  return {
    proxy,
    inbox: new Inbox({ outbox, consumer: 'billing' }),
    effect: (tx: { query(text: string): Promise<unknown> }) =>
      tx.query(`insert into "${schema}".effects values ('m-1')`),
    effects: async () => {
      const { rows } = await pool.query<{ id: string }>(`select id from "${schema}".effects`)
      return rows.map(({ id }) => id)
    },
  }
}
