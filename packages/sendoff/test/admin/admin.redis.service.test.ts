import { equal, rejects } from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { outboxAdmin } from '../../src/admin/index.ts'
import { Outbox } from '../../src/outbox/outbox.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { testAdmin } from './admin-behaviour.ts'
import { testOnlyLooking } from './only-looking.ts'

const client = new Redis(process.env['REDIS_URL']!)
after(() => client.quit())
let prefixes = 0

async function open() {
  const store = redisStore({ client, prefix: `admin-${process.pid}-${++prefixes}` })
  await store.migrate()
  return store
}

testAdmin('Redis', open)

describe('admin on Redis', () => {
  it('looks as a user who may only read, and says so when it should act', async (t) => {
    const store = await open()
    const user = `reader-${process.pid}`
    await client.call(
      'ACL',
      'SETUSER',
      user,
      'on',
      '>secret',
      '~*',
      '&*',
      '+@read',
      '+@scripting',
      '+@connection',
      '+time',
      '+info',
    )
    const reader = new Redis(process.env['REDIS_URL']!, { username: user, password: 'secret' })
    t.after(async () => {
      reader.disconnect()
      await client.call('ACL', 'DELUSER', user)
    })
    const prefix = `admin-${process.pid}-${prefixes}`
    await testOnlyLooking(store, async () => redisStore({ client: reader, prefix }))
    const admin = outboxAdmin({ store })
    await rejects(admin.keys.blocked(), { code: 'OUTBOX_STORE_CANNOT' })
    await rejects(admin.partitions(), { code: 'OUTBOX_STORE_CANNOT' })
  })

  it('cancels an event outside of a transaction only', async () => {
    const outbox = await Outbox.writerOnly({ store: await open(), logger: false }).start()
    const id = await outbox.transaction(() => outbox.write('A', 1))
    await rejects(
      outbox.transaction(() => outbox.cancel(id)),
      { code: 'OUTBOX_STORE_CANNOT' },
    )
    await rejects(outbox.cancel({ idempotencyKey: 'k' }), { code: 'OUTBOX_STORE_CANNOT' })
    equal((await outbox.cancel(id)).rows.length, 1)
    equal((await outbox.cancel(id)).rows.length, 0)
  })
})
